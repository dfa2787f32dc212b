#include "cli/terminal.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace impresario::cli {

bool on_terminal() { return isatty(1) != 0; }
bool colours() {
    static const bool yes = on_terminal() && !std::getenv("NO_COLOR");
    return yes;
}

std::string painted(const std::string& text, Colour colour) {
    if (!colours() || colour == Colour::plain) return text;
    const char* code = "0";
    switch (colour) {
        case Colour::plain:
            break;
        case Colour::dim:
            code = "2";
            break;
        case Colour::bold:
            code = "1";
            break;
        case Colour::green:
            code = "32";
            break;
        case Colour::yellow:
            code = "33";
            break;
        case Colour::red:
            code = "31";
            break;
        case Colour::blue:
            code = "34";
            break;
    }
    return std::string("\033[") + code + "m" + text + "\033[0m";
}

Colour colour_of_status(const std::string& status) {
    if (status == "completed") return Colour::green;
    if (status == "running" || status == "dispatching") return Colour::blue;
    if (status == "failed" || status == "dead") return Colour::red;
    if (status == "retrying") return Colour::yellow;
    if (status == "cancelled") return Colour::dim;
    return Colour::plain;
}

namespace {
/// Characters, not bytes.
std::size_t width(const std::string& text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}
}

std::string Table::text(int status_column) const {
    std::vector<std::size_t> widths;
    for (const auto& cell : head_) widths.push_back(width(cell));
    for (const auto& row : rows_)
        for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i)
            widths[i] = std::max(widths[i], width(row[i]));
    std::string out;
    const auto line = [&](const std::vector<std::string>& row, bool heading) {
        std::string text;
        for (std::size_t i = 0; i < row.size(); ++i) {
            std::string cell = row[i];
            if (i + 1 < row.size()) cell += std::string(widths[i] - width(row[i]) + 2, ' ');
            if (heading) {
                cell = painted(cell, Colour::dim);
            } else if (static_cast<int>(i) == status_column) {
                cell = painted(cell, colour_of_status(row[i]));
            }
            text += cell;
        }
        out += text + "\n";
    };
    line(head_, true);
    for (const auto& row : rows_) line(row, false);
    return out;
}

void Table::print(int status_column) const { std::fputs(text(status_column).c_str(), stdout); }

}
