#include "platform/trigger_json.h"

#include <charconv>

#include "platform/json_text.h"
#include "platform/json_writer.h"

namespace impresario::platform {

using domain::Trigger;

std::string trigger_json(const Trigger& trigger) {
    JsonWriter json;
    json.open();
    json.field("execution_id", trigger.execution_id.text())
        .field("workflow_type", trigger.workflow_type)
        .field("organization_id", trigger.organization_id)
        .field("priority", trigger.priority)
        .field("attempt", trigger.attempt)
        .field("timeout_seconds", trigger.timeout_seconds)
        .field("deadline", domain::rfc3339(trigger.deadline))
        .field("callback_url", trigger.callback_url);
    json.open("authentication", '{').field("type", "bearer").field("token", trigger.callback_token.reveal()).close();
    if (!trigger.thrift.empty()) json.raw("thrift", trigger.thrift);
    json.raw("reserved", trigger.reserved.empty() ? "[]" : trigger.reserved)
        .raw("context", trigger.context.empty() ? "{}" : trigger.context)
        .raw("input_data", trigger.input_data);
    json.close();
    return std::move(json).text();
}

domain::Result<Trigger, domain::Fault> parse_trigger(std::string_view text) {
    if (auto checked = check_json(text); !checked)
        return domain::Fault{checked.error().pointer + ": " + checked.error().what};
    if (json_type(text) != JsonType::object) return domain::Fault{"must be a JSON object"};
    Trigger trigger;
    const JsonObject object(text);
    const auto member = [&](std::string_view key) { return object.find(key); };
    const auto string = [&](std::string_view key) {
        const auto value = member(key);
        return value && json_type(*value) == JsonType::string ? json_string(*value) : std::string{};
    };
    const auto number = [&](std::string_view key, int fallback) {
        const auto value = member(key);
        int read = fallback;
        if (value) std::from_chars(value->data(), value->data() + value->size(), read);
        return read;
    };
    const auto id = domain::ExecutionId::parse(string("execution_id"));
    if (!id) return domain::Fault{"/execution_id: must be a UUID"};
    trigger.execution_id = *id;
    trigger.callback_url = string("callback_url");
    if (trigger.callback_url.empty()) return domain::Fault{"/callback_url: is missing"};
    if (const auto authentication = member("authentication"))
        if (const auto token = json_member(*authentication, "token"))
            trigger.callback_token = domain::Secret(json_string(*token));
    if (trigger.callback_token.empty()) return domain::Fault{"/authentication/token: is missing"};
    trigger.workflow_type = string("workflow_type");
    trigger.organization_id = string("organization_id");
    trigger.priority = number("priority", 50);
    trigger.attempt = number("attempt", 1);
    trigger.timeout_seconds = number("timeout_seconds", 300);
    if (const auto deadline = domain::parse_time(string("deadline"))) trigger.deadline = *deadline;
    if (const auto input = member("input_data")) trigger.input_data = std::string(*input);
    if (const auto reserved = member("reserved")) trigger.reserved = std::string(*reserved);
    if (const auto thrift = member("thrift")) trigger.thrift = std::string(*thrift);
    if (const auto context = member("context")) trigger.context = std::string(*context);
    return trigger;
}

}
