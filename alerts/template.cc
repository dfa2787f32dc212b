#include "alerts/template.h"

#include <algorithm>

#include "alerts/labels.h"
#include "platform/json_text.h"

namespace impresario::alerts {

namespace {

constexpr std::string_view kLabel = "labels.";

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return text;
}

std::string listed(std::span<const std::string_view> names) {
    std::string all;
    for (const auto name : names) all += std::string(name) + ", ";
    return all + "labels.<name>";
}

}

std::string_view label_named(std::string_view name) {
    return name.starts_with(kLabel) ? name.substr(kLabel.size()) : std::string_view();
}

domain::Result<Template, domain::Fault> Template::parse(std::string_view text,
                                                        std::span<const std::string_view> names) {
    if (text.size() > kLongestTemplate)
        return domain::Fault{"must have at most " + std::to_string(kLongestTemplate) + " bytes"};
    if (platform::storable_text(text) != text) return domain::Fault{"must be UTF-8 without NUL"};
    Template result;
    while (!text.empty()) {
        const auto open = text.find("{{");
        if (open != 0) result.parts_.push_back({std::string(text.substr(0, open)), false});
        if (open == std::string_view::npos) break;
        const auto close = text.find("}}", open);
        if (close == std::string_view::npos) return domain::Fault{"has a {{ without its }}"};
        const auto name = trimmed(text.substr(open + 2, close - open - 2));
        const bool known = std::find(names.begin(), names.end(), name) != names.end();
        if (!known && !good_label_name(label_named(name)))
            return domain::Fault{"knows no '" + platform::storable_text(name.substr(0, 100)) + "'; there are " +
                                 listed(names)};
        result.parts_.push_back({std::string(name), true});
        text.remove_prefix(close + 2);
    }
    return result;
}

std::string Template::render(const Value& value, std::size_t most) const {
    std::string text;
    for (const auto& part : parts_) {
        text += part.is_name ? value(part.text) : part.text;
        if (text.size() > most) break;
    }
    return std::string(platform::utf8_prefix(text, most));
}

std::string shell_word(std::string_view text) {
    const auto plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
               c == '.' || c == ',' || c == ':' || c == '/' || c == '@';
    };
    if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return std::string(text);
    std::string word = "'";
    for (const char c : text) {
        if (c == '\'')
            word += "'\\''";
        else if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f)
            word += c;
    }
    return word + "'";
}

}
