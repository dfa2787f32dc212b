#include "platform/json_writer.h"

namespace impresario::platform {

namespace {

/// What stands for the character after a backslash; 0: it may stand for itself, or is written as its number.
char short_escape(char c) {
    switch (c) {
        case '"':
            return '"';
        case '\\':
            return '\\';
        case '\n':
            return 'n';
        case '\r':
            return 'r';
        case '\t':
            return 't';
        default:
            return 0;
    }
}

}

void append_quoted(std::string& into, std::string_view text) {
    static constexpr char digits[] = "0123456789abcdef";
    into += '"';
    // What needs no escape is copied in one piece.
    std::size_t copied = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        const char escape = short_escape(c);
        if (escape == 0 && static_cast<unsigned char>(c) >= 0x20) continue;
        into.append(text, copied, i - copied);
        copied = i + 1;
        if (escape != 0) {
            into += '\\';
            into += escape;
        } else {
            into += "\\u00";
            into += digits[static_cast<unsigned char>(c) >> 4];
            into += digits[static_cast<unsigned char>(c) & 15];
        }
    }
    into.append(text, copied);
    into += '"';
}

std::string json_quoted(std::string_view text) {
    std::string quoted;
    quoted.reserve(text.size() + 2);
    append_quoted(quoted, text);
    return quoted;
}

}
