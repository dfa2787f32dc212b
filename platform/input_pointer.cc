#include "platform/input_pointer.h"

#include "platform/json_text.h"

namespace impresario::platform {

namespace {

constexpr std::string_view kRoot = "/input_data";
constexpr std::size_t kLongest = 1000;

}

std::optional<std::string> pointer_fault(std::string_view from) {
    if (from.empty() || from.front() != '/')
        return "must be a JSON pointer into the input, such as /input_data/articles";
    if (from.size() > kLongest) return "must have at most " + std::to_string(kLongest) + " bytes";
    for (std::size_t i = 0; i < from.size(); ++i)
        if (from[i] == '~' && (i + 1 == from.size() || (from[i + 1] != '0' && from[i + 1] != '1')))
            return "holds a ~ that is neither ~0 nor ~1 (RFC 6901), so nothing can be there";
    if (from.ends_with("/-")) return "names the element after the last of an array, where nothing can be";
    if (storable_text(from) != from) return "holds a character that no input can hold";
    return std::nullopt;
}

std::string_view within_input(std::string_view from) {
    if (from.starts_with(kRoot) && (from.size() == kRoot.size() || from[kRoot.size()] == '/'))
        from.remove_prefix(kRoot.size());
    return from;
}

std::string plain_text_at(std::string_view input, std::string_view pointer) {
    const auto found = input.empty() ? std::nullopt : json_at(input, pointer);
    if (!found) return {};
    switch (json_type(*found)) {
        case JsonType::string:
        case JsonType::number:
        case JsonType::boolean:
            return json_string(*found);
        default:
            return {};
    }
}

}
