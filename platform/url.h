#pragma once
// URLs of endpoints, taken apart once.

#include <cstdint>
#include <string>
#include <string_view>

#include "domain/result.h"

namespace impresario::platform {

struct Url {
    std::string scheme;  // http or https
    std::string host;    // without brackets
    std::uint16_t port = 80;
    /// Path and query as sent in the request line; never empty.
    std::string target = "/";

    bool tls() const { return scheme == "https"; }
    /// "https://host:port": connections are pooled by it.
    std::string origin() const;
    /// The Host header.
    std::string authority() const;
};

/// Reads an absolute http or https URL. The error is a sentence that says what is wrong with it. User and password
/// inside a URL are refused: they would end up in logs.
domain::Result<Url, domain::Fault> parse_url(std::string_view text);

/// What is wrong with a request's target (path and query, as sent): an escape that is none, or text that is not UTF-8
/// or holds NUL. Empty when it is good.
std::string_view target_fault(std::string_view target);
/// What is wrong with a Host header; empty when it is good.
std::string_view host_fault(std::string_view host);

/// Percent-decodes; nullopt-like empty result is not used: bad escapes stay as they are.
std::string percent_decode(std::string_view text);
std::string percent_encode(std::string_view text);

}
