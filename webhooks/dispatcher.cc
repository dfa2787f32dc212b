#include "webhooks/dispatcher.h"

#include "platform/crypto.h"
#include "platform/json_text.h"
#include "platform/trigger_json.h"

namespace impresario::webhooks {

namespace {
/// A trace that nobody has begun yet: the execution's id is the trace, the attempt's the parent span.
std::string traceparent(const domain::ExecutionId& execution, const domain::AttemptId& attempt) {
    const auto bytes = [](const auto& id, std::size_t from, std::size_t count) {
        return platform::hex(std::string_view(reinterpret_cast<const char*>(id.value.data()) + from, count));
    };
    return "00-" + bytes(execution, 0, 16) + "-" + bytes(attempt, 8, 8) + "-01";
}
}

std::string loggable_answer(std::string_view body, const std::vector<const domain::Secret*>& secrets,
                            std::size_t bytes) {
    // Cut generously first: a secret across the edge must not survive half.
    std::string text = platform::storable_text(body.substr(0, bytes + 1024));
    for (const auto* secret : secrets) {
        const std::string& plain = secret->reveal();
        if (plain.size() < 4) continue;
        for (auto at = text.find(plain); at != std::string::npos; at = text.find(plain, at))
            text.replace(at, plain.size(), domain::kRedacted);
    }
    return std::string(platform::utf8_prefix(text, bytes));
}

platform::Task<Delivered> Dispatcher::deliver(domain::Trigger trigger, domain::AttemptId attempt, int number,
                                              std::shared_ptr<const Target> target) {
    const std::string body = platform::trigger_json(trigger);
    const std::string id = attempt.text();
    const auto at = clock_.now();
    auto headers = platform::signed_headers(target->secrets, id, at, body);
    headers.emplace_back("content-type", "application/json");
    headers.emplace_back("idempotency-key", id);
    headers.emplace_back("x-idempotency-key", id);
    headers.emplace_back("traceparent", traceparent(trigger.execution_id, attempt));

    Delivered delivered;
    DeliveryRecord& record = delivered.record;
    record.execution = trigger.execution_id;
    record.attempt = attempt;
    record.number = number;
    record.at = at;
    record.url = target->url;

    const auto url = platform::parse_url(target->url);
    if (!url) {
        delivered.outcome = EndpointFault{"the endpoint " + url.error().what};
    } else {
        const auto begun = clock_.steady();
        // After its deadline somebody else may be trying anew (protocol R5).
        const auto not_after = begun + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                           trigger.deadline - clock_.now());
        auto sending = client_.send_before(not_after, "POST", *url, std::move(headers), body);
        const platform::HttpOutcome http = co_await std::move(sending);
        record.duration = std::chrono::duration_cast<domain::Duration>(clock_.steady() - begun);
        delivered.outcome = classify(http, target->rules, clock_.now());
        if (const auto* answer = std::get_if<platform::HttpAnswer>(&http)) {
            record.status = answer->status;
            record.address = answer->address;
            auto secrets = target->secrets.all();
            secrets.push_back(&trigger.callback_token);
            record.answer = loggable_answer(answer->body, secrets);
        } else {
            record.address = std::visit(
                [](const auto& failure) -> std::string {
                    if constexpr (requires { failure.detail; }) return failure.address;
                    return {};
                },
                http);
        }
    }
    record.outcome = name(delivered.outcome);
    record.error = reason(delivered.outcome);
    co_return delivered;
}

}
