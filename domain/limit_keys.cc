#include "domain/limit_keys.h"

namespace impresario::domain {

namespace {

/// The first characters of UTF-8.
std::string_view clipped(std::string_view text) {
    std::size_t characters = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if ((static_cast<unsigned char>(text[i]) & 0xC0U) == 0x80U) continue;
        if (characters++ == kLongestLimitKey) return text.substr(0, i);
    }
    return text;
}

void escape(std::string& into, std::string_view text) {
    for (const char c : text) {
        if (c == '\\') {
            into += "\\\\";
        } else if (c == '\t') {
            into += "\\t";
        } else if (c == '\n') {
            into += "\\n";
        } else {
            into += c;
        }
    }
}

std::string unescaped(std::string_view text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\\' || i + 1 == text.size()) {
            plain += text[i];
            continue;
        }
        const char c = text[++i];
        plain += c == 't' ? '\t' : c == 'n' ? '\n' : c;
    }
    return plain;
}

/// Each line's two halves, as they stand; stops where `each` says so.
template <class Each>
void each_line(std::string_view text, Each each) {
    while (!text.empty()) {
        const auto end = text.find('\n');
        const auto line = text.substr(0, end);
        text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
        const auto tab = line.find('\t');
        if (tab != std::string_view::npos && each(line.substr(0, tab), line.substr(tab + 1))) return;
    }
}

}

std::string limit_keys_text(const std::vector<LimitKey>& keys) {
    std::string text;
    for (const auto& each : keys) {
        if (!text.empty()) text += '\n';
        escape(text, each.pointer);
        text += '\t';
        escape(text, clipped(each.value));
    }
    return text;
}

std::vector<LimitKey> parse_limit_keys(std::string_view text) {
    std::vector<LimitKey> keys;
    each_line(text, [&](std::string_view pointer, std::string_view value) {
        keys.push_back({unescaped(pointer), unescaped(value)});
        return false;
    });
    return keys;
}

std::string limit_key(std::string_view text, std::string_view pointer) {
    std::string found;
    each_line(text, [&](std::string_view each, std::string_view value) {
        if (each.find('\\') == std::string_view::npos ? each != pointer : unescaped(each) != pointer) return false;
        found = unescaped(value);
        return true;
    });
    return found;
}

}
