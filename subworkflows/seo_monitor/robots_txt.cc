#include "subworkflows/seo_monitor/robots_txt.h"

#include "platform/ascii.h"

namespace impresario::subworkflows::seo_monitor {

namespace {

constexpr std::size_t kMost = 500 * 1024;

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    return text;
}

/// "Googlebot/2.1 (…)" → "googlebot".
std::string product_token(std::string_view agent) {
    if (agent.starts_with('*')) return "*";
    std::size_t length = 0;
    while (length < agent.size()) {
        const char c = platform::lower(agent[length]);
        if ((c < 'a' || c > 'z') && c != '-' && c != '_') break;
        ++length;
    }
    return platform::lowered(agent.substr(0, length));
}

int hex(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    c = platform::lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/// One spelling for what RFC 9309 §2.2.2 calls equal: escapes of unreserved characters undone, other escapes in upper
/// case, bytes beyond ASCII escaped. In a pattern `*` and `$` keep their meaning; in a path they are mere characters,
/// which a pattern writes %2A and %24.
std::string one_spelling(std::string_view text, bool pattern) {
    static constexpr char digits[] = "0123456789ABCDEF";
    std::string result;
    const auto escape = [&](unsigned char byte) {
        result += '%';
        result += digits[byte >> 4];
        result += digits[byte & 15];
    };
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '%' && i + 2 < text.size() && hex(text[i + 1]) >= 0 && hex(text[i + 2]) >= 0) {
            const auto byte = static_cast<unsigned char>(hex(text[i + 1]) * 16 + hex(text[i + 2]));
            const char low = platform::lower(static_cast<char>(byte));
            const bool unreserved = (low >= 'a' && low <= 'z') || (byte >= '0' && byte <= '9') || byte == '-' ||
                                    byte == '.' || byte == '_' || byte == '~';
            if (unreserved) {
                result += static_cast<char>(byte);
            } else {
                escape(byte);
            }
            i += 2;
        } else if (static_cast<unsigned char>(c) >= 0x80 || (!pattern && (c == '*' || c == '$'))) {
            escape(static_cast<unsigned char>(c));
        } else {
            result += c;
        }
    }
    return result;
}

/// The pattern matches a beginning of the path, or the whole of it where it ends in `$`. Walks back to the last `*`
/// only, so no pattern takes longer than the product of both lengths.
bool matches(std::string_view pattern, std::string_view path) {
    const bool whole = pattern.ends_with('$');
    if (whole) pattern.remove_suffix(1);
    std::size_t p = 0;
    std::size_t at = 0;
    std::size_t star = std::string_view::npos;
    std::size_t from = 0;
    for (;;) {
        if (p == pattern.size() && (!whole || at == path.size())) return true;
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            from = at;
        } else if (p < pattern.size() && at < path.size() && pattern[p] == path[at]) {
            ++p;
            ++at;
        } else if (star != std::string_view::npos && from < path.size()) {
            p = star + 1;
            at = ++from;
        } else {
            return false;
        }
    }
}

}

RobotsTxt RobotsTxt::parse(std::string_view text) {
    RobotsTxt robots;
    text = text.substr(0, kMost);
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    bool naming = false;
    while (!text.empty()) {
        const auto end = text.find_first_of("\r\n");
        auto line = text.substr(0, end);
        text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
        line = trimmed(line.substr(0, line.find('#')));
        const auto colon = line.find(':');
        if (colon == std::string_view::npos) continue;
        const auto key = platform::lowered(trimmed(line.substr(0, colon)));
        const auto value = trimmed(line.substr(colon + 1));
        if (key == "user-agent") {
            if (!naming) robots.groups_.emplace_back();
            robots.groups_.back().agents.push_back(product_token(value));
            naming = true;
        } else if (key == "allow" || key == "disallow") {
            naming = false;
            // A rule before any group, or one that names no path, says nothing.
            if (robots.groups_.empty() || value.empty()) continue;
            robots.groups_.back().rules.push_back({key == "allow", one_spelling(value, true), std::string(line)});
        }
    }
    return robots;
}

RobotsTxt::Verdict RobotsTxt::verdict(std::string_view agent, std::string_view target) const {
    Verdict verdict;
    const auto path = one_spelling(target, false);
    if (path == "/robots.txt") return verdict;
    const auto token = product_token(agent);
    const auto names = [](const Group& group, std::string_view name) {
        for (const auto& each : group.agents)
            if (each == name) return true;
        return false;
    };
    bool named = false;
    for (const auto& group : groups_) named = named || names(group, token);
    std::size_t longest = 0;
    for (const auto& group : groups_) {
        // All groups of one name are one group (§2.2.1).
        if (!names(group, named ? std::string_view(token) : "*")) continue;
        for (const auto& rule : group.rules) {
            if (!matches(rule.pattern, path)) continue;
            const bool better =
                rule.pattern.size() > longest || (rule.pattern.size() == longest && rule.allow && !verdict.allowed);
            if (!better) continue;
            longest = rule.pattern.size();
            verdict = {rule.allow, rule.line};
        }
    }
    return verdict;
}

}
