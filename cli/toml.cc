#include "cli/toml.h"

#include <stdexcept>

namespace impresario::cli {

namespace {
struct ParserAsserts : std::logic_error {
    using std::logic_error::logic_error;
};

/// What does not come with a place: the first line with which it happens.
int line_of_assertion(const std::string& text) {
    int line = 1;
    for (auto end = text.find('\n'); end != std::string::npos; end = text.find('\n', end + 1), ++line) {
        try {
            static_cast<void>(toml::parse(std::string_view(text).substr(0, end)));
        } catch (const toml::parse_error&) {
        } catch (const ParserAsserts&) {
            break;
        }
    }
    return line;
}
}

void toml_asserts(const char* condition) { throw ParserAsserts(condition); }

std::optional<std::string> parse_toml(const std::string& text, const std::string& called, toml::table& into) {
    try {
        into = toml::parse(text);
        return std::nullopt;
    } catch (const toml::parse_error& e) {
        const auto line = e.source().begin.line;
        return called + (line ? ":" + std::to_string(line) : std::string()) + ": " + std::string(e.description());
    } catch (const ParserAsserts&) {
        return called + ":" + std::to_string(line_of_assertion(text)) +
               ": the name of a table must begin with a letter, a digit, _ or -, or stand in quotes";
    }
}

}
