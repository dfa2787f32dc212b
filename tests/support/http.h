#pragma once
// A small blocking HTTP client over plain sockets: deliberately not the product's own.

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace impresario::testing {

using Json = nlohmann::json;

struct Reply {
    int status = 0;
    std::map<std::string, std::string> headers;  // lower-case names
    std::string body;
    Json json() const { return Json::parse(body, nullptr, false); }
};

/// One request on a connection of its own. Status 0: no answer (the body says why).
Reply request(int port, const std::string& method, const std::string& target,
              const std::vector<std::pair<std::string, std::string>>& headers = {}, const std::string& body = "");

/// Sends bytes as they are and returns everything that came back until the peer closed, that was `enough`, or `seconds`
/// passed.
std::string raw_exchange(int port, const std::string& bytes, double seconds = 5,
                         const std::function<bool(const std::string&)>& enough = {});

}
