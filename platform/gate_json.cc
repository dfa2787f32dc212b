#include "platform/gate_json.h"

#include "platform/json_text.h"
#include "platform/json_writer.h"

namespace impresario::platform {

namespace {
void write_numbers(JsonWriter& json, const domain::Gate& gate) {
    for (const auto& [key, value] : gate.numbers) {
        const bool digits = !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
        if (digits) {
            json.raw(key, value);
        } else {
            json.field(key, value);
        }
    }
}
}

std::string gate_numbers_json(const domain::Gate& gate) {
    JsonWriter json;
    json.open();
    write_numbers(json, gate);
    json.close();
    return std::move(json).text();
}

std::string gate_json(const domain::Gate& gate) {
    JsonWriter json;
    json.open();
    json.field("kind", name(gate.kind)).field("subject", gate.subject).field("detail", gate.detail);
    json.raw("numbers", gate_numbers_json(gate));
    if (gate.opens_at) {
        json.field("opens_at", domain::rfc3339(*gate.opens_at));
    } else {
        json.raw("opens_at", "null");
    }
    json.close();
    return std::move(json).text();
}

std::optional<domain::Gate> parse_gate(std::string_view text) {
    if (text.empty() || json_type(text) != JsonType::object) return std::nullopt;
    const auto member = [&](std::string_view key) {
        const auto value = json_member(text, key);
        return value ? json_string(*value) : std::string{};
    };
    const auto kind = domain::parse_gate_kind(member("kind"));
    if (!kind) return std::nullopt;
    domain::Gate gate{*kind, member("subject"), member("detail"), {}, domain::parse_time(member("opens_at"))};
    if (const auto numbers = json_member(text, "numbers"))
        for (const auto& [key, value] : json_members(*numbers)) gate.numbers.emplace_back(key, json_string(value));
    return gate;
}

}
