// Timers: what waits for a time, under a waiting token.
#include "api/api.h"
#include "api/problem.h"
#include "api/request_reader.h"
#include "platform/json_writer.h"
#include "schedules/timer_store.h"

namespace impresario::api {

using platform::HttpResponse;
using platform::JsonWriter;
using platform::Task;
using platform::Tx;
using schedules::Timer;
using schedules::TimerState;
using schedules::TimerStore;
using schedules::WaitingToken;

namespace {

/// Ten years.
constexpr int kLongestTimer = 315'360'000;

void write_timer(JsonWriter& json, const Timer& timer) {
    json.open();
    json.field("name", timer.name)
        .field("state", name(timer.state))
        .field("due_at", timer.due)
        .field("waiting_token", timer.token.text())
        .raw("payload", timer.payload)
        .field("ended_at", timer.ended)
        .field("stream_id", timer.id.text())
        .field("updated_at", timer.updated_at)
        .field("updated_by", timer.updated_by);
    json.close();
}

HttpResponse timer_response(const Timer& timer) {
    JsonWriter json;
    write_timer(json, timer);
    return json_response(200, std::move(json).text());
}

HttpResponse no_such_timer() {
    return problem(404, "not-found", "there is no such timer; GET /v1/timers lists those that wait");
}

HttpResponse not_waiting(const std::string& name, bool with_token) {
    return problem(409, "not-waiting",
                   name + (with_token ? " does not wait under this token" : " does not wait") +
                       ": it was moved, was cancelled or has come due; GET /v1/timers/" + name + " says which");
}

}

Task<HttpResponse> Api::list_timers(Call call) {
    std::vector<FieldFault> faults;
    const auto said = call.request.parameter("state").value_or("waiting");
    const auto state = schedules::parse_timer_state(said);
    if (!state) faults.push_back({"state", "must be waiting, due or cancelled"});
    const int most = page_limit(call.request, 50, 500, faults);
    std::optional<schedules::TimerPlace> after;
    if (const auto text = call.request.parameter("cursor"); text && !text->empty()) {
        const auto cursor = parse_cursor(*text);
        const auto id = cursor ? schedules::TimerId::parse(cursor->id) : std::nullopt;
        if (id) after = {cursor->at, *id};
        if (!id) faults.push_back({"cursor", "is not a cursor of this list"});
    }
    if (!faults.empty()) co_return invalid(faults);
    auto asked = node_.database().read([organization = call.caller.organization_id, of = *state, after, most](Tx& tx) {
        return TimerStore().list(tx, organization, of, after, most + 1);
    });
    const auto timers = co_await std::move(asked);
    const auto shown = std::min(timers.size(), static_cast<std::size_t>(most));
    JsonWriter json;
    json.open();
    json.open("timers", '[');
    for (std::size_t i = 0; i < shown; ++i) {
        JsonWriter one;
        write_timer(one, timers[i]);
        json.element(one.text());
    }
    json.close(']');
    if (timers.size() > shown) {
        const auto& last = timers[shown - 1];
        json.field("next_cursor", cursor_text({last.ended.value_or(last.due), last.id.text()}));
    }
    json.close();
    co_return json_response(200, std::move(json).text());
}

Task<HttpResponse> Api::get_timer(Call call) {
    auto asked = node_.database().read([organization = call.caller.organization_id, name = call.path["name"]](Tx& tx) {
        return TimerStore().find(tx, organization, name);
    });
    const auto timer = co_await std::move(asked);
    if (!timer) co_return no_such_timer();
    co_return timer_response(*timer);
}

Task<HttpResponse> Api::put_timer(Call call) {
    if (auto refused = refuse_name(call.path["name"], schedules::kLongestTimerName)) co_return *std::move(refused);
    if (auto refused = BodyReader::refuse_body(call.request.body)) co_return *std::move(refused);
    BodyReader body(call.request.body);
    Timer timer;
    timer.organization_id = call.caller.organization_id;
    timer.name = call.path["name"];
    timer.updated_by = call.caller.name;
    const auto due = body.time("due_at");
    const auto in = body.whole("in_seconds", 0, kLongestTimer);
    const auto token = body.id<WaitingToken>("waiting_token");
    if (const auto payload = body.raw("payload")) timer.payload = std::string(*payload);
    if (timer.payload.size() > schedules::kLargestTimerPayload)
        body.wrong("payload", "must have at most " + std::to_string(schedules::kLargestTimerPayload) + " bytes");
    if (body.faults().empty() && due.has_value() == in.has_value())
        body.wrong("due_at", "is missing, or there is in_seconds as well: one of them says when it is due");
    body.nothing_else();
    if (!body.faults().empty()) co_return invalid(body.faults());
    timer.due = due ? *due : node_.clock().now() + std::chrono::seconds{*in};
    auto putting = node_.database().transact(
        [timer, token, writer = node_.id()](Tx& tx) { return TimerStore().put(tx, timer, token, writer); });
    const auto put = co_await std::move(putting);
    if (!put) co_return not_waiting(timer.name, token.has_value());
    node_.changed("timers");
    co_return timer_response(*put);
}

Task<HttpResponse> Api::cancel_timer(Call call) {
    std::optional<WaitingToken> token;
    if (const auto said = call.request.parameter("waiting_token")) {
        token = WaitingToken::parse(*said);
        if (!token) co_return invalid({{"waiting_token", "must be a UUID: the one that setting it gave"}});
    }
    struct Asked {
        std::optional<Timer> cancelled;
        bool known = false;
    };
    auto cancelling = node_.database().transact([organization = call.caller.organization_id, name = call.path["name"],
                                                 by = call.caller.name, token, writer = node_.id()](Tx& tx) {
        Asked asked;
        asked.cancelled = TimerStore().cancel(tx, organization, name, by, token, writer);
        asked.known = asked.cancelled || TimerStore().find(tx, organization, name);
        return asked;
    });
    const auto asked = co_await std::move(cancelling);
    if (!asked.known) co_return no_such_timer();
    if (!asked.cancelled) co_return not_waiting(call.path["name"], token.has_value());
    co_return timer_response(*asked.cancelled);
}

}
