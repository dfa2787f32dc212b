#pragma once
// Which handler answers which method and path, for whom, and how large its body may be.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/auth.h"
#include "platform/async.h"
#include "platform/http.h"

namespace impresario::api {

/// A request that has found its route.
struct Call {
    platform::HttpRequest request;
    /// Values of {name} in the path, decoded.
    std::map<std::string, std::string> path;
    /// Set on every route that asks for a role.
    Caller caller;
};

using Handler = std::function<platform::Task<platform::HttpResponse>(Call)>;

struct Route {
    std::string method;
    /// "/v1/executions/{id}"
    std::string pattern;
    /// nullopt: no API key is asked for.
    std::optional<Role> role;
    Handler handler;
    std::size_t body_limit = 1024 * 1024;
};

class Router {
  public:
    void add(Route route);

    struct Match {
        const Route* route = nullptr;
        std::map<std::string, std::string> path;
        /// Where the path exists and the method does not: what it takes.
        std::string allow;
    };
    Match match(std::string_view method, std::string_view path) const;
    const std::vector<Route>& routes() const { return routes_; }

  private:
    std::vector<Route> routes_;
    std::vector<std::vector<std::string>> segments_;
};

}
