#include "api/router.h"

#include "platform/url.h"

namespace impresario::api {

namespace {
std::vector<std::string> split(std::string_view path) {
    std::vector<std::string> segments;
    while (!path.empty()) {
        if (path.front() == '/') path.remove_prefix(1);
        const auto slash = path.find('/');
        segments.emplace_back(path.substr(0, slash));
        path = slash == std::string_view::npos ? std::string_view{} : path.substr(slash);
    }
    return segments;
}

/// A plus is a plus in a path.
std::string decode_segment(std::string text) {
    std::string escaped;
    for (const char c : text) escaped += c == '+' ? std::string("%2B") : std::string(1, c);
    return platform::percent_decode(escaped);
}
}

void Router::add(Route route) {
    segments_.push_back(split(route.pattern));
    routes_.push_back(std::move(route));
}

Router::Match Router::match(std::string_view method, std::string_view path) const {
    const auto given = split(path);
    const std::string_view asked = method == "HEAD" ? "GET" : method;
    Match result;
    std::size_t best_fixed = 0;
    for (std::size_t i = 0; i < routes_.size(); ++i) {
        const auto& pattern = segments_[i];
        if (pattern.size() != given.size()) continue;
        std::map<std::string, std::string> values;
        std::size_t fixed = 1;
        bool fits = true;
        for (std::size_t k = 0; k < pattern.size() && fits; ++k) {
            if (pattern[k].starts_with('{')) {
                values[pattern[k].substr(1, pattern[k].size() - 2)] = decode_segment(given[k]);
                fits = !given[k].empty();
            } else {
                fits = pattern[k] == given[k];
                ++fixed;
            }
        }
        if (!fits) continue;
        if (routes_[i].method != asked) {
            if (!result.allow.empty()) result.allow += ", ";
            result.allow += routes_[i].method;
            continue;
        }
        // "/v1/executions/batch" before "/v1/executions/{id}".
        if (fixed <= best_fixed) continue;
        best_fixed = fixed;
        result.route = &routes_[i];
        result.path = std::move(values);
    }
    return result;
}

}
