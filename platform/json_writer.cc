#include "platform/json_writer.h"

namespace impresario::platform {

std::string json_quoted(std::string_view text) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string quoted;
    quoted.reserve(text.size() + 2);
    quoted += '"';
    for (const char c : text) {
        switch (c) {
            case '"':
                quoted += "\\\"";
                break;
            case '\\':
                quoted += "\\\\";
                break;
            case '\n':
                quoted += "\\n";
                break;
            case '\r':
                quoted += "\\r";
                break;
            case '\t':
                quoted += "\\t";
                break;
            default:
                if (static_cast<unsigned char>(c) < 0x20) {
                    quoted += "\\u00";
                    quoted += digits[static_cast<unsigned char>(c) >> 4];
                    quoted += digits[static_cast<unsigned char>(c) & 15];
                } else {
                    quoted += c;
                }
        }
    }
    quoted += '"';
    return quoted;
}

}
