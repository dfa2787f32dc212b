#include "subworkflows/seo_monitor/links.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "platform/ascii.h"

namespace impresario::subworkflows::seo_monitor {

namespace {

constexpr char kDigits[] = "0123456789ABCDEF";

bool is_alpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
int hex(char c) {
    if (is_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/// Length of "scheme:" at the beginning; 0 when there is none.
std::size_t scheme_length(std::string_view text) {
    if (text.empty() || !is_alpha(text.front())) return 0;
    for (std::size_t i = 1; i < text.size(); ++i) {
        const char c = text[i];
        if (c == ':') return i + 1;
        if (!is_alpha(c) && !is_digit(c) && c != '+' && c != '-' && c != '.') return 0;
    }
    return 0;
}

bool web_scheme(std::string_view with_colon) {
    const auto lower = platform::lowered(with_colon);
    return lower == "http:" || lower == "https:";
}

/// What people write in href, as RFC 3986 has it: no blanks around or line ends within, no fragment, `/` for `\`, and
/// percent-encoding where a character must not stand bare.
std::string tidy(std::string_view text) {
    const auto blank = [](char c) { return static_cast<unsigned char>(c) <= ' '; };
    while (!text.empty() && blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && blank(text.back())) text.remove_suffix(1);
    text = text.substr(0, text.find('#'));
    const auto scheme = scheme_length(text);
    const bool web = scheme == 0 || web_scheme(text.substr(0, scheme));
    // Brackets belong around an IPv6 host only.
    const auto after_scheme = text.substr(scheme);
    const bool authority = after_scheme.starts_with("//") || after_scheme.starts_with("\\\\");
    const auto authority_end =
        authority ? std::min(text.find_first_of("/\\?", scheme + 2), text.size()) : std::string_view::npos;
    const auto query = text.find('?');

    static constexpr std::string_view plain = "-._~:/?@!$&'()*+,;=";
    std::string tidied;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '\t' || c == '\n' || c == '\r') continue;
        const bool escape = c == '%' && i + 2 < text.size() && hex(text[i + 1]) >= 0 && hex(text[i + 2]) >= 0;
        const bool bracket = (c == '[' || c == ']') && authority && i < authority_end;
        if (c == '\\' && web && i < query) {
            tidied += '/';
        } else if (is_alpha(c) || is_digit(c) || escape || bracket || plain.find(c) != std::string_view::npos) {
            tidied += c;
        } else {
            tidied += '%';
            tidied += kDigits[static_cast<unsigned char>(c) >> 4];
            tidied += kDigits[static_cast<unsigned char>(c) & 15];
        }
    }
    return tidied;
}

using Resolved = domain::Result<std::string, domain::Fault>;

/// RFC 3986 appendix B, of what tidy() gave.
struct Parts {
    std::string scheme;  // with its colon, lower case; empty: none
    std::optional<std::string> authority;
    std::string path;
    std::optional<std::string> query;
};

Parts split(std::string_view text) {
    Parts parts;
    const auto scheme = scheme_length(text);
    parts.scheme = platform::lowered(text.substr(0, scheme));
    text.remove_prefix(scheme);
    if (text.starts_with("//")) {
        const auto end = std::min(text.find_first_of("/?", 2), text.size());
        parts.authority = text.substr(2, end - 2);
        text.remove_prefix(end);
    }
    const auto question = text.find('?');
    parts.path = text.substr(0, question);
    if (question != std::string_view::npos) parts.query = text.substr(question + 1);
    return parts;
}

/// Escapes of unreserved characters undone, the others in upper case (§6.2.2): `%2F` is not `/`.
std::string one_spelling(std::string_view text) {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            result += text[i];
            continue;
        }
        const char c = static_cast<char>(hex(text[i + 1]) * 16 + hex(text[i + 2]));
        if (is_alpha(c) || is_digit(c) || std::string_view("-._~").find(c) != std::string_view::npos) {
            result += c;
        } else {
            result += '%';
            result += kDigits[static_cast<unsigned char>(c) >> 4];
            result += kDigits[static_cast<unsigned char>(c) & 15];
        }
        i += 2;
    }
    return result;
}

/// §5.2.4, of a path that begins with a slash.
std::string without_dots(std::string_view path) {
    std::vector<std::string_view> segments;
    bool folder = false;
    while (!path.empty()) {
        path.remove_prefix(1);
        const auto segment = path.substr(0, path.find('/'));
        path.remove_prefix(segment.size());
        folder = segment == "." || segment == "..";
        if (segment == ".." && !segments.empty()) segments.pop_back();
        if (!folder) segments.push_back(segment);
    }
    std::string result;
    for (const auto segment : segments) result.append("/").append(segment);
    if (folder || result.empty()) result += '/';
    return result;
}

/// Host in lower case, and the port unless it is the scheme's own; the error says what is wrong with them.
Resolved tidy_authority(const std::string& scheme, std::string_view authority) {
    const auto at = authority.rfind('@');
    std::string result(at == std::string_view::npos ? std::string_view{} : authority.substr(0, at + 1));
    auto host = at == std::string_view::npos ? authority : authority.substr(at + 1);
    std::string_view port;
    const auto bracket = host.starts_with('[') ? host.find(']') : 0;
    if (bracket == std::string_view::npos) return domain::Fault{"has a host that is not closed by ]"};
    if (const auto colon = host.find(':', bracket); colon != std::string_view::npos) {
        port = host.substr(colon + 1);
        host = host.substr(0, colon);
    }
    if (host.empty()) return domain::Fault{"names no host"};
    if (host.find('%') != std::string_view::npos)
        return domain::Fault{"has a host name that must be written in punycode"};
    const bool digits = std::all_of(port.begin(), port.end(), is_digit);
    if (!digits || port.size() > 5) return domain::Fault{"has an impossible port"};
    result += platform::lowered(host);
    if (!port.empty() && port != (scheme == "https:" ? "443" : "80")) result.append(":").append(port);
    return Resolved(boost::system::in_place_value, std::move(result));
}

Resolved in_one_form(const Parts& parts) {
    std::string text = parts.scheme;
    if (web_scheme(parts.scheme)) {
        if (!parts.authority) return domain::Fault{"names no host"};
        const auto authority = tidy_authority(parts.scheme, *parts.authority);
        if (!authority) return authority.error();
        text += "//" + *authority + without_dots(one_spelling(parts.path));
        if (parts.query) text += "?" + one_spelling(*parts.query);
    } else {
        if (parts.authority) text += "//" + *parts.authority;
        text += parts.path;
        if (parts.query) text += "?" + *parts.query;
    }
    // In place: a Fault, too, could be made from a string.
    return Resolved(boost::system::in_place_value, std::move(text));
}

}

bool is_web(std::string_view url) {
    const auto scheme = scheme_length(url);
    return scheme != 0 && web_scheme(url.substr(0, scheme)) && url.substr(scheme).starts_with("//");
}

bool is_absolute(std::string_view reference) {
    while (!reference.empty() && static_cast<unsigned char>(reference.front()) <= ' ') reference.remove_prefix(1);
    return scheme_length(reference) != 0;
}

Resolved absolute(std::string_view url) {
    const auto parts = split(tidy(url));
    if (parts.scheme.empty()) return domain::Fault{"is not an absolute URL"};
    return in_one_form(parts);
}

Resolved resolve(std::string_view base, std::string_view reference) {
    auto target = split(tidy(reference));
    if (!target.scheme.empty()) return in_one_form(target);
    const auto from = split(tidy(base));
    if (!web_scheme(from.scheme)) return domain::Fault{"has a base that is no web address"};
    // §5.2.2
    target.scheme = from.scheme;
    if (!target.authority) {
        target.authority = from.authority;
        if (target.path.empty()) {
            target.path = from.path;
            if (!target.query) target.query = from.query;
        } else if (!target.path.starts_with('/')) {
            target.path = from.path.substr(0, from.path.rfind('/') + 1) + target.path;
        }
    }
    if (!target.path.starts_with('/')) target.path.insert(0, "/");
    return in_one_form(target);
}

bool same_site(std::string_view a, std::string_view b) {
    const auto site = [](std::string_view url) {
        auto text = origin_of(url);
        return text.substr(text.find("//"));
    };
    return site(a) == site(b);
}

std::string origin_of(std::string_view url) {
    const auto slashes = url.find("//");
    if (slashes == std::string_view::npos) return std::string(url);
    return std::string(url.substr(0, url.find_first_of("/?", slashes + 2)));
}

std::string target_of(std::string_view url) {
    const auto origin = origin_of(url).size();
    return origin < url.size() ? std::string(url.substr(origin)) : "/";
}

}
