#include "fuzz/targets.h"
#include "platform/json_text.h"
#include "subworkflows/needs_json.h"
#include "subworkflows/workflow_type_json.h"

namespace impresario::fuzz {

void workflow_type(std::string_view bytes) {
    const domain::Lane lane{"default", "seo_monitor"};
    const auto type = subworkflows::parse_workflow_type(bytes, lane, nullptr);
    if (!type) {
        require(!type.error().empty() && !type.error().front().what.empty(), "a refusal says what is wrong");
        return;
    }
    // What the tables take.
    for (const auto length : {type->timeout, type->max_runtime, type->max_wait})
        require(length >= std::chrono::seconds{1} && length <= std::chrono::hours{720}, "a wait fits its column");
    for (const int status : type->unknown_statuses) require(status >= 500 && status <= 599, "a status is one");
    for (const auto& endpoint : type->endpoints)
        require(endpoint.weight >= 1 && endpoint.weight <= 1000 && endpoint.max_in_flight >= 1, "weights are in range");
    domain::MicroUsd sum;
    for (const auto& need : type->needs) {
        require(need.calls >= 0 && need.tokens >= 0 && need.items >= 0, "counts are not negative");
        sum = sum + need.cost;
    }
    require(sum <= domain::kMostMoney, "the sum of the estimates fits its column");
    for (const auto& text : {type->concurrency_key, std::string(type->secrets.bearer.reveal())})
        require(platform::storable_text(text) == text, "a text can be stored", text);

    const auto shown = subworkflows::workflow_type_json(*type);
    require(platform::check_json(shown).has_value(), "what is shown is JSON", shown);
    const auto again = subworkflows::parse_workflow_type(shown, lane, &*type);
    require(again.has_value(), "what is shown can be sent back",
            again ? "" : again.error().front().pointer + " " + again.error().front().what);
    const auto stored =
        subworkflows::stored_call_estimates(subworkflows::call_estimates_json({type->needs, type->from_input}));
    require(stored.needs == type->needs && stored.from_input == type->from_input, "estimates survive the database");
}

}
