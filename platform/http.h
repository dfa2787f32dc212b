#pragma once
// HTTP messages as values, for both sides.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace impresario::platform {

using Headers = std::vector<std::pair<std::string, std::string>>;

/// The first header of that name, whatever its case; empty when there is none.
std::string_view header(const Headers& headers, std::string_view name);
bool header_is(std::string_view a, std::string_view b);

struct HttpRequest {
    std::string method;
    /// Path without query, as sent (still percent-encoded).
    std::string path;
    std::string query;
    Headers headers;
    std::string body;
    std::string remote_address;

    std::string_view header(std::string_view name) const { return platform::header(headers, name); }
    /// A query parameter, decoded; nullopt when absent.
    std::optional<std::string> parameter(std::string_view name) const;
    /// The token of `Authorization: Bearer …`; empty when there is none.
    std::string_view bearer() const;
};

class BodyStream;

struct HttpResponse {
    int status = 200;
    Headers headers;
    std::string body;
    /// Ends the connection after this answer.
    bool close = false;
    /// In place of a body: it goes out as it comes, and ends with the connection.
    std::shared_ptr<BodyStream> stream = {};
};

std::string_view reason_phrase(int status);

}
