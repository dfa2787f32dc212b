// Silences: alerts that nobody is to be told of for a while.
#include "alerts/alert_store.h"
#include "alerts/settings_json.h"
#include "api/api.h"
#include "api/problem.h"
#include "api/request_reader.h"
#include "platform/json_text.h"
#include "platform/json_writer.h"

namespace impresario::api {

using alerts::AlertStore;
using alerts::Silence;
using platform::HttpResponse;
using platform::JsonWriter;
using platform::Task;
using platform::Tx;

namespace {

/// A year.
constexpr int kLongestSeconds = 366 * 86'400;
constexpr std::size_t kLongestComment = 500;

void write_silence(JsonWriter& json, const Silence& silence, domain::TimePoint now) {
    json.open();
    json.field("silence_id", silence.id.text());
    json.open("matchers", '[');
    for (const auto& matcher : silence.matchers) json.element(platform::json_quoted(matcher.text()));
    json.close(']');
    json.field("starts_at", silence.starts_at)
        .field("ends_at", silence.ends_at)
        .field("by", silence.by)
        .field("comment", silence.comment)
        .field("active", silence.active(now));
    json.close();
}

HttpResponse silence_response(int status, const Silence& silence, domain::TimePoint now) {
    JsonWriter json;
    write_silence(json, silence, now);
    return json_response(status, std::move(json).text());
}

std::vector<std::string> read_matchers(BodyReader& body) {
    const auto raw = body.raw("matchers");
    if (!raw || platform::json_type(*raw) != platform::JsonType::array) {
        body.wrong("matchers", "must be an array of strings, as in [\"severity=warning\", \"alertname=~queue_.*\"]");
        return {};
    }
    return platform::json_strings(*raw);
}

}

Task<HttpResponse> Api::list_silences(Call call) {
    if (!call.caller.looks_after_all()) co_return for_default_only("silences");
    const bool ended = call.request.parameter("ended").value_or("false") == "true";
    auto asked = node_.database().read([ended](Tx& tx) { return AlertStore().silences(tx, ended); });
    const auto silences = co_await std::move(asked);
    JsonWriter json;
    json.open();
    json.open("silences", '[');
    for (const auto& silence : silences) {
        JsonWriter one;
        write_silence(one, silence, node_.clock().now());
        json.element(one.text());
    }
    json.close(']');
    json.close();
    co_return json_response(200, std::move(json).text());
}

Task<HttpResponse> Api::create_silence(Call call) {
    if (!call.caller.looks_after_all()) co_return for_default_only("silences");
    if (auto refused = BodyReader::refuse_body(call.request.body)) co_return *std::move(refused);
    BodyReader body(call.request.body);
    const auto now = node_.clock().now();
    Silence silence;
    const auto matchers = read_matchers(body);
    silence.starts_at = body.time("starts_at").value_or(now);
    const auto ends = body.time("ends_at");
    const auto seconds = body.whole("for_seconds", 1, kLongestSeconds);
    silence.comment = body.text("comment", kLongestComment);
    silence.by = call.caller.name;
    if (body.faults().empty() && ends.has_value() == seconds.has_value())
        body.wrong("for_seconds", "is missing, or there is ends_at as well: one of them says how long");
    body.nothing_else();
    if (ends) silence.ends_at = *ends;
    if (seconds) silence.ends_at = std::max(silence.starts_at, now) + std::chrono::seconds{*seconds};
    auto parsed = alerts::parse_matchers(matchers, "/matchers");
    if (parsed) silence.matchers = *std::move(parsed);
    if (!parsed && body.faults().empty()) co_return invalid(parsed.error());
    if (!body.faults().empty()) co_return invalid(body.faults());
    if (const auto faults = alerts::faults_of(silence, now); !faults.empty()) co_return invalid(faults);
    auto creating = node_.database().transact([silence](Tx& tx) { return AlertStore().silence(tx, silence); });
    silence.id = co_await std::move(creating);
    node_.changed("alerts");
    co_return silence_response(201, silence, now);
}

Task<HttpResponse> Api::end_silence(Call call) {
    if (!call.caller.looks_after_all()) co_return for_default_only("silences");
    const auto id = alerts::SilenceId::parse(call.path["silence_id"]);
    if (!id) co_return invalid({{"silence_id", "must be a UUID"}});
    auto ending = node_.database().transact([which = *id](Tx& tx) { return AlertStore().end_silence(tx, which); });
    const bool ended = co_await std::move(ending);
    if (!ended)
        co_return problem(404, "not-found", "there is no such silence that goes on; GET /v1/silences lists them");
    node_.changed("alerts");
    HttpResponse response;
    response.status = 204;
    co_return response;
}

}
