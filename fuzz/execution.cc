// What POST /v1/executions and its batch do with a body before anything is stored.
#include "api/execution_request.h"
#include "domain/limit_keys.h"
#include "fuzz/targets.h"
#include "platform/json_text.h"

namespace impresario::fuzz {

namespace {

const subworkflows::Catalogue& catalogue() {
    static const auto made = [] {
        subworkflows::Catalogue with_one;
        subworkflows::WorkflowType type;
        type.lane = {"default", "seo_monitor"};
        type.concurrency_key = "/customer";
        type.needs = {{"gemini", 1}};
        type.from_input = {{"gemini", domain::NeedPart::calls, "/input_data/articles", 3'000'000, 1},
                           {"gemini", domain::NeedPart::tokens, "/words", 1'300'000, 0}};
        with_one.types.emplace(type.lane, type);
        return with_one;
    }();
    return made;
}

void refused(const platform::HttpResponse& response) {
    require(response.status == 400 || response.status == 422, "what is wrong is the sender's fault", response.body);
    require(platform::check_json(response.body).has_value(), "a refusal is JSON", response.body);
    const auto errors = platform::json_member(response.body, "errors");
    require(errors && platform::json_elements(*errors).size() <= api::kMostFaults, "a refusal has an end");
}

void storable(const priority_queue::NewExecution& made) {
    require(made.input.empty() || platform::check_json(made.input).has_value(), "an input can be stored", made.input);
    const auto& e = made.execution;
    require(e.priority >= 0 && e.priority <= 100 && e.max_retries >= 0, "numbers fit their columns");
    require(platform::storable_text(e.concurrency_key) == e.concurrency_key, "a key can be stored", e.concurrency_key);
    const auto keys = domain::parse_limit_keys(e.limit_keys);
    require(keys.size() == 1 && platform::storable_text(e.limit_keys) == e.limit_keys, "a limit's key can be stored");
    require(domain::limit_key(e.limit_keys, "/customer") == keys[0].value, "and found again", e.limit_keys);
    const auto amounts = domain::parse_need_amounts(e.need_amounts);
    require(amounts.size() == 2, "what it needs can be read again", e.need_amounts);
    for (const auto& each : amounts)
        require(each.amount >= 0 && each.amount <= domain::kMostFromInput, "amounts are in range", e.need_amounts);
    require(domain::parse_time(domain::rfc3339(e.scheduled_at)) == e.scheduled_at, "a time can be stored");
}

}

void execution(std::string_view bytes) {
    if (const auto response = api::BodyReader::refuse_body(bytes)) return refused(*response);
    const auto now = domain::from_micros(1'795'000'000'000'000);
    for (const bool batch : {false, true}) {
        const auto intent = batch ? api::read_batch(bytes, "default", catalogue(), now, {}, 1000)
                                  : api::read_single(bytes, "default", catalogue(), now);
        if (!intent.faults.empty()) refused(api::invalid(intent.faults));
        require(!intent.executions.empty() || !intent.faults.empty(), "there is either an execution or a fault");
        auto executions = intent.executions;
        resource_manager::ProviderLimit limit;
        limit.key = "/customer";
        api::take_limit_keys(executions, catalogue(), {{"gemini", {limit}}});
        for (const auto& each : executions) storable(each);
    }
}

}
