#include "api/execution_request.h"

#include <utility>

#include "domain/limit_keys.h"
#include "platform/input_pointer.h"
#include "platform/json_text.h"
#include "resource_manager/estimate.h"
#include "resource_manager/limiter.h"

namespace impresario::api {

namespace {
/// Reads one execution of a request. Its concurrency key and what it needs are taken from the input now, once.
std::optional<priority_queue::NewExecution> read_execution(BodyReader& body, const std::string& organization_id,
                                                           const subworkflows::Catalogue& catalogue,
                                                           domain::TimePoint now, bool in_batch, bool& unknown_type) {
    priority_queue::NewExecution made;
    auto& e = made.execution;
    e.lane.organization_id = organization_id;
    e.lane.workflow_type = body.text("workflow_type");
    const auto* type = catalogue.find(e.lane);
    if (e.lane.workflow_type.empty()) {
        body.wrong("workflow_type", "is missing");
    } else if (!type) {
        unknown_type = true;
        body.wrong("workflow_type", "is not a registered workflow type; GET /v1/workflow-types lists them");
    }
    e.priority = body.priority("priority").value_or(50);
    e.created_at = now;
    e.scheduled_at = body.time("scheduled_at").value_or(now);
    if (!in_batch) e.batch = body.id<domain::BatchId>("batch_id");
    e.max_retries = body.whole("max_retries", 0, 1000).value_or(type ? type->retry.max_retries : 3);
    if (const auto input = body.raw("input")) made.input = std::string(*input);
    if (const auto context = body.raw("context")) {
        if (platform::json_type(*context) != platform::JsonType::object) body.wrong("context", "must be an object");
        made.context = std::string(*context);
    }
    body.nothing_else();
    if (!body.faults().empty()) return std::nullopt;
    if (!type->concurrency_key.empty() && !made.input.empty())
        if (const auto key = platform::json_at(made.input, type->concurrency_key);
            key && platform::json_type(*key) != platform::JsonType::null)
            e.concurrency_key = std::string(platform::utf8_prefix(platform::json_string(*key), 200));
    e.size_class = resource_manager::size_class(static_cast<std::int64_t>(made.input.size()));
    if (!type->from_input.empty()) {
        const auto amounts = subworkflows::need_amounts(type->from_input, made.input);
        if (!amounts) {
            body.wrong_within("input", amounts.error().pointer, amounts.error().what);
            return std::nullopt;
        }
        e.need_amounts = domain::need_amounts_text(*amounts);
    }
    e.ready = e.scheduled_at <= now;
    if (e.ready) {
        e.ready_at = now;
    } else {
        e.due_at = e.scheduled_at;
    }
    e.last_seq = 1;
    return made;
}
}

Intent read_single(std::string_view text, const std::string& organization_id, const subworkflows::Catalogue& catalogue,
                   domain::TimePoint now) {
    Intent intent;
    BodyReader body(text);
    auto execution = read_execution(body, organization_id, catalogue, now, false, intent.unknown_type);
    if (execution) intent.executions.push_back(*std::move(execution));
    intent.faults = std::move(body.faults());
    return intent;
}

Intent read_batch(std::string_view text, const std::string& organization_id, const subworkflows::Catalogue& catalogue,
                  domain::TimePoint now, const domain::BatchId& fresh, int most) {
    Intent intent;
    BodyReader body(text);
    intent.batch = body.id<domain::BatchId>("batch_id").value_or(fresh);
    const auto list = body.raw("executions");
    if (!list || platform::json_type(*list) != platform::JsonType::array) {
        body.wrong("executions", "must be an array");
    } else {
        const auto elements = platform::json_elements(*list);
        if (elements.empty() || static_cast<int>(elements.size()) > most)
            body.wrong("executions", "must hold 1 to " + std::to_string(most) + " executions");
        for (std::size_t i = 0; i < elements.size() && static_cast<int>(i) < most; ++i) {
            BodyReader each(elements[i], "/executions/" + std::to_string(i));
            auto execution = read_execution(each, organization_id, catalogue, now, true, intent.unknown_type);
            for (auto& fault : each.faults()) body.faults().push_back(std::move(fault));
            if (!execution) continue;
            execution->execution.batch = intent.batch;
            intent.executions.push_back(*std::move(execution));
        }
    }
    body.nothing_else();
    intent.faults = std::move(body.faults());
    return intent;
}

void take_limit_keys(std::vector<priority_queue::NewExecution>& executions, const subworkflows::Catalogue& catalogue,
                     const std::vector<resource_manager::Provider>& providers) {
    for (auto& each : executions) {
        auto& execution = each.execution;
        const auto* type = catalogue.find(execution.lane);
        if (!type || type->needs.empty()) continue;
        std::vector<domain::LimitKey> keys;
        for (const auto& pointer : resource_manager::key_pointers(providers, type->needs))
            keys.push_back({pointer, platform::plain_text_at(each.input, pointer)});
        execution.limit_keys = domain::limit_keys_text(keys);
    }
}

std::vector<FieldFault> never_granted(const std::vector<priority_queue::NewExecution>& executions, bool in_batch,
                                      const subworkflows::Catalogue& catalogue,
                                      const std::vector<resource_manager::Provider>& providers) {
    std::vector<FieldFault> faults;
    const subworkflows::WorkflowType* asked = nullptr;
    for (std::size_t i = 0; i < executions.size(); ++i) {
        const auto& e = executions[i].execution;
        const auto* type = catalogue.find(e.lane);
        if (!type) continue;
        // A batch is mostly of one type, whose first tells of all.
        if (e.need_amounts.empty() && (type->needs.empty() || std::exchange(asked, type) == type)) continue;
        auto needs = domain::with_amounts(type->needs, e.need_amounts);
        const bool declared = e.need_amounts.empty();
        // Of tokens and money less may turn out to be enough than is declared; calls and items are what is declared.
        if (declared)
            for (auto& need : needs) need = {need.provider, need.calls, 0, need.items, {}};
        if (auto why = resource_manager::never_fits(providers, needs))
            faults.push_back(
                {(in_batch ? "/executions/" + std::to_string(i) : "") + (declared ? "/workflow_type" : "/input"),
                 *std::move(why)});
    }
    return faults;
}

}
