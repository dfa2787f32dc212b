#include "platform/url.h"

#include <boost/url.hpp>
#include <cstdlib>

#include "platform/ascii.h"
#include "platform/json_text.h"

namespace impresario::platform {

std::string Url::origin() const { return scheme + "://" + authority(); }

std::string Url::authority() const {
    const bool v6 = host.find(':') != std::string::npos;
    std::string text = v6 ? "[" + host + "]" : host;
    if (port != (tls() ? 443 : 80)) text += ":" + std::to_string(port);
    return text;
}

domain::Result<Url, domain::Fault> parse_url(std::string_view text) {
    if (text.size() > 2048) return domain::Fault{"is longer than 2048 characters"};
    const auto parsed = boost::urls::parse_uri(text);
    if (!parsed) return domain::Fault{"is not an absolute URL"};
    const auto& view = *parsed;
    Url url;
    url.scheme = lowered(std::string_view(view.scheme()));
    if (url.scheme != "http" && url.scheme != "https") return domain::Fault{"must begin with http:// or https://"};
    if (view.has_userinfo()) return domain::Fault{"must not hold a user or password; use the type's bearer or headers"};
    url.host = view.host_address();
    if (url.host.empty()) return domain::Fault{"names no host"};
    if (view.has_port()) {
        const std::string digits = view.port();
        const long number = digits.size() <= 5 ? std::strtol(digits.c_str(), nullptr, 10) : 0;
        if (number < 1 || number > 65535) return domain::Fault{"has an impossible port"};
        url.port = static_cast<std::uint16_t>(number);
    } else {
        url.port = url.tls() ? 443 : 80;
    }
    url.target = view.encoded_path();
    if (url.target.empty()) url.target = "/";
    // Boost.URL 1.81 reads a second port as a path.
    if (url.target.front() != '/') return domain::Fault{"has something other than a path after its host"};
    if (view.has_query()) url.target += "?" + std::string(view.encoded_query());
    return url;
}

namespace {
int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/// Whether a percent sign and two hex digits stand at `at`.
bool escape_at(std::string_view text, std::size_t at) {
    return text[at] == '%' && at + 2 < text.size() && hex_digit(text[at + 1]) >= 0 && hex_digit(text[at + 2]) >= 0;
}

bool escapes_are_good(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i)
        if (text[i] == '%' && !escape_at(text, i)) return false;
    return true;
}
}

std::string_view target_fault(std::string_view target) {
    if (!escapes_are_good(target)) return "the address holds a % without two hex digits after it";
    const std::string decoded = percent_decode(target);
    if (storable_text(decoded) != decoded) return "the address is not UTF-8, or holds a NUL";
    return {};
}

std::string_view host_fault(std::string_view host) {
    for (const char c : host) {
        const bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (!letter && std::string_view("-._~!$&'()*+,;=:[]%").find(c) == std::string_view::npos)
            return "Host holds a character that no host name has";
    }
    return escapes_are_good(host) ? std::string_view{} : "Host holds a % without two hex digits after it";
}

std::string percent_decode(std::string_view text) {
    std::string decoded;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (escape_at(text, i)) {
            decoded += static_cast<char>(hex_digit(text[i + 1]) << 4 | hex_digit(text[i + 2]));
            i += 2;
        } else if (text[i] == '+') {
            decoded += ' ';
        } else {
            decoded += text[i];
        }
    }
    return decoded;
}

std::string percent_encode(std::string_view text) {
    static constexpr char digits[] = "0123456789ABCDEF";
    std::string encoded;
    for (const char c : text) {
        const bool plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
                           c == '_' || c == '.' || c == '~';
        if (plain) {
            encoded += c;
        } else {
            encoded += '%';
            encoded += digits[static_cast<unsigned char>(c) >> 4];
            encoded += digits[static_cast<unsigned char>(c) & 15];
        }
    }
    return encoded;
}

}
