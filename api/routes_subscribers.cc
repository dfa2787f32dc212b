// Who is told of events at an address of its own.
#include "api/api.h"
#include "api/problem.h"
#include "api/request_reader.h"
#include "journal/event_json.h"
#include "journal/outbox_store.h"
#include "journal/retention_store.h"
#include "journal/subscriber_json.h"
#include "orchestrator/outbox.h"
#include "orchestrator/subscriber_events.h"
#include "platform/json_text.h"
#include "platform/json_writer.h"

namespace impresario::api {

namespace event = domain::event;
using domain::DefinitionFaults;
using domain::TimePoint;
using journal::OutboxStore;
using journal::Subscriber;
using journal::SubscriberStore;
using platform::HttpResponse;
using platform::JsonWriter;
using platform::Task;
using platform::Tx;

namespace {

HttpResponse no_such_subscriber() {
    return problem(404, "not-found", "there is no such subscriber; GET /v1/subscribers lists them");
}

std::string_view health(const SubscriberStore::Known& known) {
    if (known.subscriber.disabled) return "disabled";
    return known.state.failures >= journal::kFailing ? "failing" : "ok";
}

void write_subscriber(JsonWriter& json, const SubscriberStore::Known& known, const OutboxStore::Backlog& backlog,
                      TimePoint now, const std::optional<domain::Secret>& fresh) {
    const auto& [subscriber, state] = known;
    json.open();
    json.field("name", subscriber.name);
    const auto definition = definition_json(subscriber);
    const auto members = platform::json_members(definition);
    for (const auto& member : members) json.raw(member.key, member.value);
    const auto& secrets = subscriber.secrets;
    json.field("has_bearer", !secrets.bearer.empty()).field("signing_secret_count", secrets.signing.size());
    json.open("header_names", '[');
    for (const auto& [name, value] : secrets.headers) json.element(platform::json_quoted(name));
    json.close(']');
    if (fresh) json.field("signing_secret", fresh->reveal());
    json.field("version", subscriber.version)
        .field("updated_at", subscriber.updated_at)
        .field("updated_by", subscriber.updated_by)
        .field("health", health(known));
    if (subscriber.disabled) {
        json.open("disabled", '{');
        json.field("at", subscriber.disabled->at)
            .field("by", subscriber.disabled->by)
            .field("reason", subscriber.disabled->reason);
        json.close();
    } else {
        json.raw("disabled", "null");
    }
    json.field("failures", state.failures)
        .field("failing_since", state.failing_since)
        .field("not_before", state.not_before);
    json.field_or_null("last_error", state.last_error);
    json.field("published", state.published)
        .field("last_published_at", state.last_published)
        .field("pending", backlog.pending)
        .field("in_flight", backlog.in_flight)
        .field("failed", backlog.failed)
        .field("replays", backlog.replays)
        .field("oldest_waiting_at", backlog.oldest);
    const auto lag = backlog.oldest ? std::max(now - *backlog.oldest, domain::Duration{0}) : domain::Duration{0};
    json.field("lag_seconds",
               static_cast<double>(std::chrono::duration_cast<std::chrono::milliseconds>(lag).count()) / 1e3);
    json.close();
}

}

Task<std::optional<SubscriberStore::Known>> Api::find_subscriber(const Call& call) {
    auto reading =
        node_.database().read([this, organization = call.caller.organization_id, name = call.path.at("name")](Tx& tx) {
            return SubscriberStore(node_.keys()).find(tx, organization, name);
        });
    co_return co_await std::move(reading);
}

Task<HttpResponse> Api::list_subscribers(Call call) {
    using Shown = std::pair<SubscriberStore::Known, OutboxStore::Backlog>;
    auto reading = node_.database().read([this, organization = call.caller.organization_id](Tx& tx) {
        std::vector<Shown> shown;
        auto all = SubscriberStore(node_.keys()).list(tx, organization);
        for (auto& known : all) {
            const auto backlog = OutboxStore().backlog(tx, known.subscriber, known.state);
            shown.emplace_back(std::move(known), backlog);
        }
        return shown;
    });
    const auto all = co_await std::move(reading);
    const auto now = node_.clock().now();
    JsonWriter json;
    json.open();
    json.open("subscribers", '[');
    for (const auto& [known, backlog] : all) {
        JsonWriter one;
        write_subscriber(one, known, backlog, now, std::nullopt);
        json.element(one.text());
    }
    json.close(']');
    json.close();
    co_return json_response(200, std::move(json).text());
}

/// As it stands now; `fresh`: a signing secret that is shown this once.
Task<HttpResponse> Api::shown_subscriber(Call call, int status, std::optional<domain::Secret> fresh) {
    struct Read {
        std::optional<SubscriberStore::Known> known;
        OutboxStore::Backlog backlog;
    };
    auto reading =
        node_.database().read([this, organization = call.caller.organization_id, name = call.path["name"]](Tx& tx) {
            Read read{SubscriberStore(node_.keys()).find(tx, organization, name), {}};
            if (read.known) read.backlog = OutboxStore().backlog(tx, read.known->subscriber, read.known->state);
            return read;
        });
    const auto read = co_await std::move(reading);
    if (!read.known) co_return no_such_subscriber();
    JsonWriter json;
    write_subscriber(json, *read.known, read.backlog, node_.clock().now(), fresh);
    co_return json_response(status, std::move(json).text());
}

Task<HttpResponse> Api::get_subscriber(Call call) { co_return co_await shown_subscriber(std::move(call), 200); }

Task<HttpResponse> Api::put_subscriber(Call call) {
    if (!domain::good_definition_name(call.path["name"])) co_return invalid({{"name", domain::kDefinitionNameRule}});
    if (auto refused = BodyReader::refuse_body(call.request.body)) co_return *std::move(refused);
    const auto parsed = journal::parse_subscriber(call.request.body, nullptr);
    if (!parsed) co_return invalid(parsed.error());
    const auto url = platform::parse_url(parsed->url);
    auto asking = node_.client().refusal(*url);
    const auto refusal = co_await std::move(asking);
    if (!refusal.empty()) co_return invalid({{"/url", "cannot be sent to: " + refusal}});
    struct Put {
        bool made = false;
        bool too_many = false;
        std::optional<domain::Secret> fresh;
        DefinitionFaults faults;
    };
    auto putting = node_.database().transact(
        [this, body = call.request.body, caller = call.caller, name = call.path["name"]](Tx& tx) {
            const SubscriberStore store(node_.keys());
            Put put;
            for (;;) {
                const auto known = store.lock(tx, caller.organization_id, name);
                // What it does not say about secrets stays as it is now.
                auto again = journal::parse_subscriber(body, known ? &known->subscriber : nullptr);
                if (!again) {
                    put.faults = again.error();
                    return put;
                }
                auto subscriber = *std::move(again);
                subscriber.organization_id = caller.organization_id;
                subscriber.name = name;
                subscriber.updated_by = caller.name;
                if (known) {
                    subscriber.id = known->subscriber.id;
                    store.change(tx, subscriber);
                } else {
                    put.too_many = store.count(tx, caller.organization_id) >= journal::kMostSubscribers;
                    if (put.too_many) return put;
                    if (subscriber.secrets.signing.empty()) {
                        put.fresh = platform::new_signing_secret();
                        subscriber.secrets.signing.push_back(*put.fresh);
                    }
                    put.made = store.create(tx, subscriber);
                    // Somebody else has made it this moment.
                    if (!put.made) {
                        put.fresh.reset();
                        continue;
                    }
                    subscriber.id = store.find(tx, caller.organization_id, name)->subscriber.id;
                }
                orchestrator::append_subscriber_event(tx, subscriber, node_.id(), event::subscriber_changed,
                                                      caller.name, "");
                return put;
            }
        });
    const auto put = co_await std::move(putting);
    if (!put.faults.empty()) co_return invalid(put.faults);
    if (put.too_many)
        co_return problem(409, "too-many",
                          "there are " + std::to_string(journal::kMostSubscribers) +
                              " subscribers already, which is the most; delete one first");
    co_await node_.refresh_catalogue();
    auto showing = shown_subscriber(std::move(call), put.made ? 201 : 200, put.fresh);
    co_return co_await std::move(showing);
}

/// Does something about a subscriber that is locked. nullopt: there is none.
template <class Do>
Task<std::optional<std::invoke_result_t<Do&, Tx&, const SubscriberStore&, const SubscriberStore::Known&>>>
Api::about_subscriber(const Call& call, Do what) {
    using Done = std::invoke_result_t<Do&, Tx&, const SubscriberStore&, const SubscriberStore::Known&>;
    auto doing = node_.database().transact(
        [this, organization = call.caller.organization_id, name = call.path.at("name"), what](Tx& tx) mutable {
            const SubscriberStore store(node_.keys());
            const auto known = store.lock(tx, organization, name);
            return known ? std::optional<Done>(what(tx, store, *known)) : std::nullopt;
        });
    auto done = co_await std::move(doing);
    if (done) co_await node_.refresh_catalogue();
    co_return done;
}

Task<HttpResponse> Api::delete_subscriber(Call call) {
    auto deleting =
        about_subscriber(call, [](Tx& tx, const SubscriberStore& store, const SubscriberStore::Known& known) {
            store.remove(tx, known.subscriber.id);
            return true;
        });
    const auto deleted = co_await std::move(deleting);
    if (!deleted) co_return no_such_subscriber();
    co_return json_response(200, "{\"ok\":true}");
}

/// A fresh signing secret, shown this once; the newest old one stays alive beside it until the next rotation.
Task<HttpResponse> Api::rotate_subscriber_secret(Call call) {
    auto rotating =
        about_subscriber(call, [node = node_.id(), by = call.caller.name](Tx& tx, const SubscriberStore& store,
                                                                          const SubscriberStore::Known& known) {
            const auto fresh = platform::new_signing_secret();
            auto subscriber = known.subscriber;
            auto& signing = subscriber.secrets.signing;
            if (signing.size() > 1) signing.resize(1);
            signing.insert(signing.begin(), fresh);
            subscriber.updated_by = by;
            store.change(tx, subscriber);
            orchestrator::append_subscriber_event(tx, subscriber, node, event::subscriber_changed, by,
                                                  "a new signing secret");
            return fresh;
        });
    const auto fresh = co_await std::move(rotating);
    if (!fresh) co_return no_such_subscriber();
    auto showing = shown_subscriber(std::move(call), 200, fresh);
    co_return co_await std::move(showing);
}

Task<HttpResponse> Api::disable_subscriber(Call call) {
    auto said = read_by_hand(call.request.body, 500);
    if (said.refused) co_return *std::move(said.refused);
    auto disabling =
        about_subscriber(call, [node = node_.id(), by = call.caller.name, why = said.reason](
                                   Tx& tx, const SubscriberStore& store, const SubscriberStore::Known& known) {
            const bool was_on = store.disable(tx, known.subscriber.id, by, why);
            if (was_on)
                orchestrator::append_subscriber_event(tx, known.subscriber, node, event::subscriber_disabled, by, why);
            return was_on;
        });
    const auto done = co_await std::move(disabling);
    if (!done) co_return no_such_subscriber();
    co_return co_await shown_subscriber(std::move(call), 200);
}

Task<HttpResponse> Api::enable_subscriber(Call call) {
    auto said = read_by_hand(call.request.body, 500);
    if (said.refused) co_return *std::move(said.refused);
    auto enabling =
        about_subscriber(call, [node = node_.id(), by = call.caller.name, why = said.reason](
                                   Tx& tx, const SubscriberStore& store, const SubscriberStore::Known& known) {
            journal::RetentionStore().wait(tx);
            store.enable(tx, known.subscriber.id);
            orchestrator::append_subscriber_event(tx, known.subscriber, node, event::subscriber_enabled, by, why);
            return true;
        });
    const auto done = co_await std::move(enabling);
    if (!done) co_return no_such_subscriber();
    co_return co_await shown_subscriber(std::move(call), 200);
}

/// One event, what was given up, or what has happened since a time, as far as the subscriber hears of it.
Task<HttpResponse> Api::replay_to_subscriber(Call call) {
    if (auto refused = BodyReader::refuse_body(call.request.body)) co_return *std::move(refused);
    auto parsed = journal::parse_replay(call.request.body);
    if (!parsed) co_return invalid(parsed.error());
    const auto request = *std::move(parsed);
    struct Done {
        bool found = true;
        std::optional<std::int64_t> messages;
    };
    auto replaying = about_subscriber(call, [request, by = call.caller.name](Tx& tx, const SubscriberStore& subscribers,
                                                                             const SubscriberStore::Known& known) {
        const OutboxStore store;
        const auto& subscriber = known.subscriber;
        Done done;
        // What is told again is not removed meanwhile.
        journal::RetentionStore().wait(tx);
        if (request.event) {
            done.messages = store.replay_one(tx, subscriber, request.event->stream, request.event->seq);
            done.found = done.messages.has_value();
        } else if (request.failed) {
            done.messages = store.replay_failed(tx, subscriber.id, by);
        } else {
            journal::Replay replay;
            replay.after = store.number_before(tx, *request.since);
            // What it has not come to yet it is told of anyway, in its order.
            replay.last = known.state.position;
            replay.choice = request.choice;
            replay.since = request.since;
            replay.until = request.until;
            replay.by = by;
            if (replay.last > replay.after) store.replay(tx, subscriber.id, replay);
        }
        // Whoever tells it looks again.
        subscribers.announce(tx, subscriber.id);
        return done;
    });
    const auto done = co_await std::move(replaying);
    if (!done) co_return no_such_subscriber();
    if (!done->found) co_return problem(404, "not-found", "there is no such event, or not any more");
    JsonWriter json;
    json.open();
    json.field("ok", true).field("messages", done->messages);
    json.close();
    co_return json_response(202, std::move(json).text());
}

/// Sends it an event that has not happened, now, and says what it answered.
Task<HttpResponse> Api::test_subscriber(Call call) {
    const auto known = co_await find_subscriber(call);
    if (!known) co_return no_such_subscriber();
    const auto now = node_.clock().now();
    journal::NumberedEvent test;
    test.kind = "subscriber";
    test.stream = node_.ids().make<journal::SubscriberId>(now).value;
    test.organization_id = known->subscriber.organization_id;
    test.type = "subscriber.test";
    test.at = now;
    test.payload = "{\"by\":" + platform::json_quoted(call.caller.name) + "}";
    const auto subscriber = std::make_shared<const Subscriber>(known->subscriber);
    auto posting = webhooks::post_signed(node_.client(), node_.clock(), orchestrator::post_of(subscriber, test));
    const auto posted = co_await std::move(posting);
    JsonWriter json;
    json.open();
    json.field("outcome", name(posted.outcome)).field("status", posted.status);
    json.field_or_null("error", reason(posted.outcome));
    json.field("address", posted.address)
        .field("duration_ms", static_cast<double>(posted.duration.count()) / 1000.0)
        .field("answer", posted.answer);
    json.close();
    co_return json_response(200, std::move(json).text());
}

Task<HttpResponse> Api::subscriber_messages(Call call) {
    std::vector<FieldFault> faults;
    const int limit = page_limit(call.request, 50, 500, faults);
    const auto before = number_parameter(call.request, "before", faults);
    std::optional<journal::MessageState> state;
    if (const auto text = call.request.parameter("state")) {
        state = journal::parse_message_state(*text);
        if (!state) faults.push_back({"state", "must be pending, in_flight, published or failed"});
    }
    if (!faults.empty()) co_return invalid(faults);
    const auto known = co_await find_subscriber(call);
    if (!known) co_return no_such_subscriber();
    auto reading = node_.database().read([id = known->subscriber.id, state, before, limit](Tx& tx) {
        return OutboxStore().messages(tx, id, state, before, limit);
    });
    const auto messages = co_await std::move(reading);
    JsonWriter json;
    json.open();
    json.open("messages", '[');
    for (const auto& message : messages) {
        json.open();
        // Empty: the event is not kept any more.
        const bool kept = message.event.seq > 0;
        json.field_or_null("webhook_id", kept ? journal::event_key(message.event) : std::string());
        json.field("type", message.event.type)
            .field("at", message.event.at)
            .field("state", name(message.state))
            .field("deliveries", message.tries.deliveries)
            .field("failures", message.tries.failures)
            .field("due_at", message.due);
        json.field_or_null("error", message.error);
        json.field("ended_at", message.ended)
            .raw("event", kept ? journal::event_json(message.event) : std::string("null"));
        json.close();
    }
    json.close(']');
    const bool more = messages.size() == static_cast<std::size_t>(limit);
    json.field("next_before", more ? std::optional(messages.back().event.number) : std::nullopt);
    json.close();
    co_return json_response(200, std::move(json).text());
}

Task<HttpResponse> Api::subscriber_deliveries(Call call) {
    std::vector<FieldFault> faults;
    const int limit = page_limit(call.request, 50, 500, faults);
    const auto before = number_parameter(call.request, "before", faults);
    if (!faults.empty()) co_return invalid(faults);
    const auto known = co_await find_subscriber(call);
    if (!known) co_return no_such_subscriber();
    auto reading = node_.database().read(
        [id = known->subscriber.id, before, limit](Tx& tx) { return OutboxStore().deliveries(tx, id, before, limit); });
    const auto deliveries = co_await std::move(reading);
    JsonWriter json;
    json.open();
    json.open("deliveries", '[');
    for (const auto& each : deliveries) {
        const auto& delivery = each.delivery;
        json.open();
        json.field_or_null("webhook_id", each.webhook_id);
        json.field("type", each.type)
            .field("number", delivery.number)
            .field("at", delivery.at)
            .field("duration_ms", static_cast<double>(delivery.duration.count()) / 1000.0)
            .field("url", delivery.url)
            .field("address", delivery.address)
            .field("status", delivery.status)
            .field("outcome", delivery.outcome)
            .field("error", delivery.error)
            .field("answer", delivery.answer);
        json.close();
    }
    json.close(']');
    const bool more = deliveries.size() == static_cast<std::size_t>(limit);
    json.field("next_before", more ? std::optional(deliveries.back().id) : std::nullopt);
    json.close();
    co_return json_response(200, std::move(json).text());
}

}
