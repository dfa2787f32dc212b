#include "webhooks/dispatcher.h"

#include "platform/redact.h"
#include "platform/trigger_json.h"
#include "webhooks/signed_post.h"

namespace impresario::webhooks {

platform::Task<Delivered> Dispatcher::deliver(domain::Trigger trigger, domain::AttemptId attempt, int number,
                                              std::shared_ptr<const Target> target) {
    const std::string id = attempt.text();
    SignedPost post;
    post.url = target->url;
    post.secrets = std::shared_ptr<const platform::PeerSecrets>(target, &target->secrets);
    post.id = id;
    post.headers.emplace_back("idempotency-key", id);
    post.headers.emplace_back("x-idempotency-key", id);
    if (!trigger.traceparent.empty()) post.headers.emplace_back("traceparent", trigger.traceparent);
    if (!trigger.tracestate.empty()) post.headers.emplace_back("tracestate", trigger.tracestate);
    post.body = platform::trigger_json(trigger);
    post.rules = target->rules;
    // After its deadline somebody else may be trying anew (protocol R5).
    post.not_after = clock_.steady() +
                     std::chrono::duration_cast<std::chrono::steady_clock::duration>(trigger.deadline - clock_.now());
    post.also_secret.push_back(trigger.callback_token);
    auto posting = post_signed(client_, clock_, std::move(post));
    auto posted = co_await std::move(posting);

    Delivered delivered;
    DeliveryRecord& record = delivered.record;
    record.execution = trigger.execution_id;
    record.attempt = attempt;
    record.number = number;
    record.at = posted.at;
    record.duration = posted.duration;
    record.url = platform::shown_url(target->url);
    record.address = std::move(posted.address);
    record.status = posted.status;
    record.answer = std::move(posted.answer);
    delivered.outcome = std::move(posted.outcome);
    record.outcome = name(delivered.outcome);
    record.error = reason(delivered.outcome);
    co_return delivered;
}

}
