#include "subworkflows/intelligence_engine/report_json.h"

#include <cmath>

#include "platform/json_text.h"
#include "platform/json_writer.h"
#include "subworkflows/intelligence_engine/explanation.h"

namespace impresario::subworkflows::intelligence_engine {

using domain::MicroUsd;
using platform::JsonWriter;

namespace {

/// Rates, factors and scores need no more than four places.
std::string four(double value) { return number(value, 4); }
std::string whole(double value) { return number(value, 0); }
std::string usd(double micros) { return domain::decimal(MicroUsd{std::llround(micros)}); }

void maybe(JsonWriter& json, std::string_view key, const std::optional<double>& value, auto write) {
    json.raw(key, value ? write(*value) : std::string{});
}

void strings(JsonWriter& json, std::string_view key, const std::vector<std::string>& texts) {
    json.open(key, '[');
    for (const auto& text : texts) json.element(platform::json_quoted(platform::storable_text(text)));
    json.close(']');
}

void span_json(JsonWriter& json, const Span& span) {
    json.field("from", domain::rfc3339(span.from)).field("to", domain::rfc3339(span.to));
}

void metric_json(JsonWriter& json, std::string_view key, const TypeBaseline& baseline, Metric metric) {
    const auto& built = baseline.of(metric);
    if (!built) {
        json.raw(key, "null");
        return;
    }
    json.open(key, '{');
    const Interval central = built->central();
    if (metric == Metric::duration) {
        json.raw("median", whole(built->usual())).raw("low", whole(central.low)).raw("high", whole(central.high));
    } else {
        json.field("median", usd(built->usual())).field("low", usd(central.low)).field("high", usd(central.high));
    }
    json.field("values", static_cast<std::int64_t>(built->values())).field("hours_of_day", built->own_hours());
    json.close();
}

void rate_json(JsonWriter& json, std::string_view key, const RateBaseline& rate) {
    if (rate.tries == 0) {
        json.raw(key, "null");
        return;
    }
    const Interval interval = rate.interval();
    json.open(key, '{')
        .raw("rate", four(rate.rate()))
        .raw("low", four(interval.low))
        .raw("high", four(interval.high))
        .field("executions", rate.tries)
        .close();
}

void anomaly_json(JsonWriter& json, const Anomaly& anomaly) {
    json.open();
    json.field("kind", name(anomaly.kind))
        .field("change", name(anomaly.change))
        .field("direction", anomaly.up ? "up" : "down")
        .field("severity", name(anomaly.severity))
        .field("since", domain::rfc3339(anomaly.since));
    if (anomaly.until) json.field("until", domain::rfc3339(*anomaly.until));
    switch (anomaly.kind) {
        case Kind::cost_per_execution:
        case Kind::cost_per_item:
            json.field("unit", "usd").field("observed", usd(anomaly.observed)).field("usual", usd(anomaly.usual));
            break;
        case Kind::duration:
            json.field("unit", "ms").raw("observed", whole(anomaly.observed)).raw("usual", whole(anomaly.usual));
            break;
        case Kind::failure_rate:
        case Kind::retries:
            json.field("unit", "share").raw("observed", four(anomaly.observed)).raw("usual", four(anomaly.usual));
            break;
        case Kind::silence:
            json.field("unit", "runs").raw("observed", four(anomaly.observed)).raw("usual", four(anomaly.usual));
            break;
    }
    maybe(json, "ratio", anomaly.ratio, four);
    json.raw("score", four(anomaly.score))
        .raw("threshold", four(anomaly.threshold))
        .field("affected", anomaly.affected)
        .field("looked_at", anomaly.looked_at);
    json.open("execution_ids", '[');
    for (const auto& id : anomaly.executions) json.element(platform::json_quoted(id.text()));
    json.close(']');
    json.field("explanation", platform::storable_text(anomaly.explanation))
        .field("sentence", platform::storable_text(anomaly.sentence));
    json.close();
}

void type_json(JsonWriter& json, const TypeReport& type) {
    json.open();
    json.field("workflow_type", type.workflow_type);
    if (!type.failure.empty()) {
        json.field("failure", platform::storable_text(type.failure)).close();
        return;
    }
    json.field("executions", type.executions)
        .field("completed", type.completed)
        .field("failed", type.failed)
        .field("dead", type.dead);
    maybe(json, "failure_rate", type.failure_rate, four);
    json.field("cost_usd", domain::decimal(type.cost));
    maybe(json, "median_duration_ms", type.median_duration_ms, whole);
    maybe(json, "p95_duration_ms", type.p95_duration_ms, whole);
    json.open("baseline", '{');
    span_json(json, type.baseline_span);
    json.field("executions", type.baseline_executions);
    metric_json(json, "cost_usd", type.baseline, Metric::cost);
    metric_json(json, "duration_ms", type.baseline, Metric::duration);
    metric_json(json, "cost_per_item_usd", type.baseline, Metric::cost_per_item);
    rate_json(json, "failures", type.baseline.failures);
    rate_json(json, "retries", type.baseline.retries);
    json.close();
    json.open("anomalies", '[');
    for (const auto& anomaly : type.anomalies) anomaly_json(json, anomaly);
    json.close(']');
    strings(json, "notes", type.notes);
    json.close();
}

void forecast_json(JsonWriter& json, const Report& report) {
    const Forecast& day = report.forecast;
    json.open("forecast", '{').field("spent_today_usd", domain::decimal(day.spent));
    if (day.day) {
        json.field("expected_today_usd", domain::decimal(day.day->expected))
            .field("low_usd", domain::decimal(day.day->low))
            .field("high_usd", domain::decimal(day.day->high));
    } else {
        json.raw("expected_today_usd", "null").raw("low_usd", "null").raw("high_usd", "null");
    }
    json.field("interval", 0.8).field("earlier_days", static_cast<std::int64_t>(day.days));
    if (day.chance_over_budget) json.raw("chance_over_budget", four(*day.chance_over_budget));
    if (day.over_budget_at) json.field("over_budget_at", domain::rfc3339(*day.over_budget_at));
    strings(json, "workflow_types", report.forecast_types);
    if (!day.note.empty()) json.field("note", day.note);
    json.close();
}

std::string item_json(const TypeReport& type) {
    JsonWriter json;
    json.open();
    json.field("key", type.workflow_type).field("status", type.failure.empty() ? "completed" : "failed");
    if (!type.failure.empty()) json.field("error", platform::storable_text(type.failure));
    json.close();
    return std::move(json).text();
}

}

std::string report_json(const Report& report, const Request& request) {
    JsonWriter json;
    json.open();
    json.open("window", '{');
    span_json(json, report.windows.window);
    json.close();
    json.field("sensitivity", request.sensitivity);
    json.open("types", '[');
    for (const auto& type : report.types) type_json(json, type);
    json.close(']');
    forecast_json(json, report);
    strings(json, "summary", report.summary);
    json.close();
    return std::move(json).text();
}

domain::Callback answer(const Report& report, const Request& request, const ReadingOutcome& reading) {
    std::size_t failed = 0;
    std::string why;
    for (const auto& type : report.types)
        if (!type.failure.empty()) {
            ++failed;
            if (why.empty()) why = type.workflow_type + ": " + type.failure;
        }
    domain::Callback callback;
    if (failed > 0 && failed == report.types.size()) {
        const std::string which =
            failed == 1 ? "the history could not be read" : "the history of no workflow type could be read";
        callback = failure(which + "; " + why, reading.again, reading.retry_after);
    } else {
        callback.result_data = report_json(report, request);
        if (failed > 0) {
            callback.status = domain::CallbackStatus::partial;
            for (const auto& type : report.types)
                callback.items.push_back({type.workflow_type, !type.failure.empty(), item_json(type)});
        }
    }
    callback.items_processed = reading.executions;
    callback.api_calls = reading.requests;
    return callback;
}

domain::Callback failure(std::string message, bool again, std::optional<domain::Duration> retry_after) {
    domain::Callback callback;
    callback.status = domain::CallbackStatus::failed;
    callback.error_message = platform::storable_text(message);
    callback.retry_recommended = again;
    callback.retry_after = retry_after;
    JsonWriter json;
    json.open();
    json.field("message", callback.error_message).field("retry_recommended", again);
    if (retry_after) json.field("retry_after_seconds", std::chrono::ceil<std::chrono::seconds>(*retry_after).count());
    json.close();
    callback.error_data = std::move(json).text();
    return callback;
}

domain::Callback refusal(const std::vector<JsonMistake>& mistakes) {
    std::string text = "the input is wrong:";
    for (const auto& mistake : mistakes)
        text += (&mistake == &mistakes.front() ? " " : "; ") + (mistake.pointer.empty() ? "it" : mistake.pointer) +
                " " + mistake.what;
    return failure(std::move(text), false);
}

}
