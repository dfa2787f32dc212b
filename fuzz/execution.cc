// What POST /v1/executions and its batch do with a body before anything is stored.
#include "api/execution_request.h"
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
        for (const auto& each : intent.executions) storable(each);
    }
}

}
