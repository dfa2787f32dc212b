#include "platform/http_framing.h"

#include <algorithm>
#include <utility>

#include "platform/http.h"

namespace impresario::platform {

namespace {
std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    return text;
}

bool is_number(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}
}

std::size_t head_length(std::string_view bytes) {
    for (auto at = bytes.find('\n'); at != std::string_view::npos; at = bytes.find('\n', at + 1)) {
        const auto rest = bytes.substr(at + 1);
        if (rest.starts_with('\n')) return at + 2;
        if (rest.starts_with("\r\n")) return at + 3;
    }
    return 0;
}

std::string_view framing_fault(std::string_view head) {
    bool first = true;
    bool old = false;
    int hosts = 0;
    int lengths = 0;
    int codings = 0;
    for (;;) {
        const auto end = head.find('\n');
        if (end == std::string_view::npos) return "the head does not end";
        if (end == 0 || head[end - 1] != '\r') return "a line ends with LF alone; lines end with CR LF";
        const auto line = head.substr(0, end - 1);
        head.remove_prefix(end + 1);
        if (line.find('\r') != std::string_view::npos || line.find('\0') != std::string_view::npos)
            return "a line has CR or NUL in it";
        if (std::exchange(first, false)) {
            old = line.ends_with(" HTTP/1.0");
            continue;
        }
        if (line.empty()) break;
        if (line.front() == ' ' || line.front() == '\t') return "a header is folded over two lines";
        const auto colon = line.find(':');
        if (colon == std::string_view::npos || colon == 0) return "a header has no name";
        const auto name = line.substr(0, colon);
        const auto value = trimmed(line.substr(colon + 1));
        if (name.find_first_of(" \t") != std::string_view::npos) return "there is white space in a header's name";
        if (header_is(name, "host")) ++hosts;
        if (header_is(name, "content-length")) {
            ++lengths;
            if (!is_number(value)) return "Content-Length is not a number";
        }
        if (header_is(name, "transfer-encoding")) {
            ++codings;
            if (!header_is(value, "chunked")) return "Transfer-Encoding is not chunked, and nothing else is read here";
        }
    }
    if (hosts > 1) return "there is more than one Host";
    if (hosts == 0 && !old) return "Host is missing";
    if (lengths > 1) return "there is more than one Content-Length";
    if (codings > 1) return "there is more than one Transfer-Encoding";
    if (codings == 1 && lengths == 1) return "Transfer-Encoding and Content-Length exclude each other";
    if (codings == 1 && old) return "HTTP/1.0 has no Transfer-Encoding";
    return {};
}

std::string_view origin_form(std::string_view target) {
    for (const std::string_view scheme : {"http://", "https://"}) {
        if (!header_is(target.substr(0, scheme.size()), scheme)) continue;
        const auto path = target.find_first_of("/?", scheme.size());
        return path == std::string_view::npos ? std::string_view("/") : target.substr(path);
    }
    return target;
}

}
