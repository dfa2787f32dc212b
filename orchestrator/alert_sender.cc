#include "orchestrator/alert_sender.h"

#include <algorithm>

#include "alerts/alertmanager_message.h"
#include "alerts/email_message.h"
#include "alerts/pagerduty_message.h"
#include "alerts/slack_message.h"
#include "alerts/webhook_message.h"
#include "platform/redact.h"
#include "platform/url.h"
#include "webhooks/outcome.h"
#include "webhooks/signed_post.h"

namespace impresario::orchestrator {

using alerts::DeliveryResult;
using alerts::Message;
using alerts::Receiver;
using alerts::ReceiverKind;
using platform::Task;
using Kind = DeliveryResult::Kind;

namespace {

constexpr std::chrono::seconds kMailDeadline{20};
constexpr std::size_t kMostSaid = 200;
/// What an Alertmanager is told fires ends there after that, unless it is told again.
constexpr int kRepeats = 2;

/// The content is to blame, and the same will be answered the same.
bool for_good(int status) { return status == 400 || status == 413 || status == 422; }

DeliveryResult judged(const Receiver& receiver, const platform::HttpOutcome& outcome, domain::TimePoint now) {
    DeliveryResult result;
    if (const auto* unsent = std::get_if<platform::NotSent>(&outcome)) return {Kind::failed, {}, unsent->detail};
    if (const auto* silent = std::get_if<platform::NoAnswer>(&outcome)) return {Kind::unknown, {}, silent->detail};
    const auto& answer = std::get<platform::HttpAnswer>(outcome);
    if (answer.status >= 200 && answer.status < 300) return result;
    result.kind = for_good(answer.status) ? Kind::refused : Kind::failed;
    result.retry_after = webhooks::retry_after(answer.header("retry-after"), now);
    auto secrets = receiver.secrets.all();
    const auto address = platform::secrets_of_url(receiver.url);
    for (const auto& each : address) secrets.push_back(&each);
    secrets.push_back(&receiver.routing_key);
    result.error = "it answered " + std::to_string(answer.status);
    if (const auto said = webhooks::loggable_answer(answer.body, secrets, kMostSaid); !said.empty())
        result.error += ": " + said;
    return result;
}

platform::Headers plain_headers(const Receiver& receiver) {
    platform::Headers headers;
    if (!receiver.secrets.bearer.empty())
        headers.emplace_back("authorization", "Bearer " + receiver.secrets.bearer.reveal());
    for (const auto& [name, value] : receiver.secrets.headers) headers.emplace_back(name, value.reveal());
    return headers;
}

/// The longest that any route lets pass before it says the same again.
domain::Duration longest_repeat(const alerts::Route& route) {
    auto longest = route.repeat_interval.value_or(std::chrono::hours{4});
    for (const auto& child : route.children) longest = std::max(longest, longest_repeat(child));
    return longest;
}

}

AlertSender::AlertSender(platform::HttpClient& client, platform::SmtpClient& smtp, platform::Clock& clock,
                         const alerts::Settings& settings)
    : client_(client), smtp_(smtp), clock_(clock), settings_(settings) {}

const Receiver* AlertSender::find(const std::string& name) const {
    return alerts::find_receiver(settings_.receivers, name);
}

AlertSender::Request AlertSender::signed_request(const Receiver& receiver, const std::string& id,
                                                 std::string body) const {
    Request request{receiver.url.reveal(), platform::signed_headers(receiver.secrets, id, clock_.now(), body), {}};
    request.headers.emplace_back("content-type", "application/json");
    request.body = std::move(body);
    return request;
}

AlertSender::Request AlertSender::request_of(const Receiver& receiver, const Message& message) const {
    Request request{receiver.url.reveal(), {}, {}};
    switch (receiver.kind) {
        case ReceiverKind::slack:
            request.body = alerts::slack_message(message);
            break;
        case ReceiverKind::pagerduty:
            request.body = alerts::pagerduty_message(message, alerts::pagerduty_action(message), receiver.routing_key);
            break;
        case ReceiverKind::alertmanager:
            while (request.url.ends_with('/')) request.url.pop_back();
            request.url += "/api/v2/alerts";
            request.headers = plain_headers(receiver);
            request.body = alerts::alertmanager_message(message, kRepeats * longest_repeat(settings_.route));
            break;
        case ReceiverKind::webhook:
        case ReceiverKind::email:
            return signed_request(receiver, message.notification.id, alerts::webhook_message(message));
    }
    request.headers.emplace_back("content-type", "application/json");
    return request;
}

Task<AlertSender::Answer> AlertSender::post(const Receiver& receiver, Request request,
                                            std::chrono::steady_clock::time_point not_after) {
    const auto url = platform::parse_url(request.url);
    if (!url) co_return Answer{0, {Kind::failed, {}, "its address " + url.error().what}};
    auto sending = client_.send_before(not_after, "POST", *url, std::move(request.headers), std::move(request.body));
    const auto outcome = co_await std::move(sending);
    Answer answer;
    if (const auto* said = std::get_if<platform::HttpAnswer>(&outcome)) answer.status = said->status;
    answer.result = judged(receiver, outcome, clock_.now());
    co_return answer;
}

Task<DeliveryResult> AlertSender::post(const Receiver& receiver, std::string id, std::string body,
                                       std::chrono::steady_clock::time_point not_after) {
    Request request{receiver.url.reveal(), {{"content-type", "application/json"}}, {}};
    if (receiver.kind == ReceiverKind::webhook) {
        request = signed_request(receiver, id, std::move(body));
    } else {
        request.body = std::move(body);
    }
    auto posting = post(receiver, std::move(request), not_after);
    const auto answer = co_await std::move(posting);
    co_return answer.result;
}

Task<DeliveryResult> AlertSender::mail(const Receiver& receiver, std::string mail) {
    platform::SmtpSettings server;
    server.url = receiver.url.reveal();
    server.username = receiver.username;
    server.password = receiver.password;
    server.allow_plaintext = receiver.allow_plaintext;
    server.extra_trust = receiver.extra_trust;
    server.timeout = kMailDeadline;
    auto sending = smtp_.send(std::move(server), receiver.envelope.from, receiver.envelope.to, std::move(mail));
    const auto outcome = co_await std::move(sending);
    DeliveryResult result;
    if (const auto* failed = std::get_if<platform::SmtpFailed>(&outcome)) result = {Kind::failed, {}, failed->why};
    if (const auto* refused = std::get_if<platform::SmtpRefused>(&outcome)) result = {Kind::refused, {}, refused->why};
    if (const auto* unknown = std::get_if<platform::SmtpUnknown>(&outcome)) result = {Kind::unknown, {}, unknown->why};
    if (const auto* taken = std::get_if<platform::SmtpDelivered>(&outcome))
        for (const auto& each : taken->refused)
            result.error += (result.error.empty() ? "" : "; ") + each.address + " does not get it: " + each.said;
    co_return result;
}

Task<DeliveryResult> AlertSender::send(Message message, std::chrono::steady_clock::time_point not_after) {
    const auto* receiver = find(message.notification.receiver);
    if (!receiver)
        co_return DeliveryResult{Kind::failed, {}, "there is no such receiver in the configuration any more"};
    message.templates = receiver->templates;
    if (receiver->kind == ReceiverKind::email) {
        auto mailing = mail(*receiver, alerts::email_message(message, receiver->envelope));
        co_return co_await std::move(mailing);
    }
    auto posting = post(*receiver, request_of(*receiver, message), not_after);
    auto answer = co_await std::move(posting);
    if (receiver->kind == ReceiverKind::slack && answer.status == 400) {
        // Something about its blocks: in plain words it may be taken.
        Request plain{receiver->url.reveal(), {{"content-type", "application/json"}}, slack_plain_message(message)};
        auto again = post(*receiver, std::move(plain), not_after);
        answer = co_await std::move(again);
    }
    co_return answer.result;
}

}
