#include "api/openapi.h"

#include <yaml-cpp/yaml.h>

#include <charconv>

#include "api_text.h"
#include "platform/json_writer.h"

namespace impresario::api {

std::string_view openapi_yaml() { return text::openapi_yaml; }

namespace {
bool number(const std::string& text) {
    double value = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    return !text.empty() && read.ec == std::errc{} && read.ptr == text.data() + text.size();
}

std::string to_json(const YAML::Node& node) {
    if (node.IsMap()) {
        platform::JsonWriter json;
        json.open();
        for (const auto& member : node) json.raw(member.first.as<std::string>(), to_json(member.second));
        json.close();
        return std::move(json).text();
    }
    if (node.IsSequence()) {
        platform::JsonWriter json;
        json.open('[');
        for (const auto& element : node) json.element(to_json(element));
        json.close(']');
        return std::move(json).text();
    }
    if (node.IsNull()) return "null";
    const std::string text = node.Scalar();
    // A plain scalar keeps its type; a quoted one (tag "!") is a string.
    if (node.Tag() != "!" && (text == "true" || text == "false" || text == "null" || number(text))) return text;
    return platform::json_quoted(text);
}
}

const std::string& openapi_json() {
    static const std::string json = to_json(YAML::Load(std::string(openapi_yaml())));
    return json;
}

}
