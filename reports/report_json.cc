#include "reports/report_json.h"

#include "platform/json_writer.h"
#include "platform/zone.h"

namespace impresario::reports {

using platform::JsonWriter;

namespace {

std::optional<double> seconds(const std::optional<domain::Duration>& duration) {
    return duration ? std::optional(domain::in_seconds(*duration)) : std::nullopt;
}

void write_lane(JsonWriter& json, const domain::Lane& lane) {
    json.field("organization_id", lane.organization_id).field("workflow_type", lane.workflow_type);
}

void write_ended(JsonWriter& json, const Ended& ended) {
    json.field("ended", ended.all())
        .field("completed", ended.completed)
        .field("failed", ended.failed)
        .field("dead", ended.dead)
        .field("cancelled", ended.cancelled)
        .field("success_percent", ended.success_percent())
        .field("attempts", ended.attempts)
        .field("retries", ended.retries)
        .field("items", ended.items)
        .field("cost_usd", domain::decimal(ended.cost))
        .field("cost_per_item_usd", ended.cost_per_item());
    json.open("duration_seconds", '{');
    json.field("p50", seconds(ended.durations.quantile(0.5))).field("p95", seconds(ended.durations.quantile(0.95)));
    json.close();
    json.open("wait_seconds", '{');
    json.field("p50", seconds(ended.waits.quantile(0.5))).field("p95", seconds(ended.waits.quantile(0.95)));
    json.close();
}

template <class All, class Write>
void list(JsonWriter& json, const char* name, const All& all, Write write) {
    json.open(name, '[');
    for (const auto& each : all) {
        json.open();
        write(each);
        json.close();
    }
    json.close(']');
}

void write_outlook(JsonWriter& json, const std::optional<Outlook>& outlook) {
    if (!outlook) {
        json.raw("forecast", "null");
        return;
    }
    json.open("forecast", '{');
    list(json, "budgets", outlook->budgets, [&](const BudgetOutlook& each) {
        json.field_or_null("organization_id", each.organization_id)
            .field("budget", each.name)
            .field("limit_usd", domain::decimal(each.limit))
            .field("counted_usd", domain::decimal(each.counted))
            .field("at_end_usd", domain::decimal(each.at_end))
            .field("reached_at", each.reached_at)
            .field("resets_at", each.resets_at);
    });
    list(json, "queues", outlook->queues, [&](const QueueOutlook& each) {
        write_lane(json, each.lane);
        json.field("waiting", each.waiting).field("seconds", each.seconds);
    });
    json.close();
}

}

std::string report_json(const Report& report) {
    JsonWriter json;
    json.open();
    json.field("kind", name(report.kind))
        .field("period", period_text(report.period, platform::find_zone(report.zone)))
        .field("from", report.period.from)
        .field("to", report.period.to)
        .field("zone", report.zone)
        .field("made_at", report.made_at)
        .field_or_null("organization_id", report.organization_id)
        .field("known_from", report.known_from)
        .field("gates_known", report.gates_known)
        .field("alerts_known", report.alerts_known);
    json.open("total", '{');
    write_ended(json, report.total());
    json.close();
    list(json, "workflow_types", report.lanes, [&](const auto& each) {
        write_lane(json, each.first);
        write_ended(json, each.second);
    });
    list(json, "providers", report.providers, [&](const ProviderUse& each) {
        write_lane(json, each.lane);
        json.field_or_null("provider", each.provider)
            .field("usages", each.usages)
            .field("cost_usd", domain::decimal(each.cost));
    });
    list(json, "gates", report.gates, [&](const GateTime& each) {
        write_lane(json, each.lane);
        json.field("gate", each.gate).field("subject", each.subject).field("closed_seconds", each.seconds);
    });
    list(json, "failures", report.failures, [&](const Failure& each) {
        write_lane(json, each.lane);
        json.field("fingerprint", each.fingerprint)
            .field("reason", each.reason)
            .field("error", each.error)
            .field("count", each.count)
            .texts("executions", each.executions);
    });
    list(json, "alerts", report.alerts, [&](const AlertSeen& each) {
        json.field("name", each.name)
            .field("severity", each.severity)
            .field("summary", each.summary)
            .field("since", each.since)
            .field("until", each.until)
            .texts("executions", each.executions);
    });
    list(json, "budgets", report.budgets, [&](const BudgetUse& each) {
        json.field_or_null("organization_id", each.organization_id)
            .field("budget", each.name)
            .field("window", each.window)
            .field("limit_usd", domain::decimal(each.limit))
            .field("settled_usd", domain::decimal(each.settled))
            .field("peak_usd", domain::decimal(each.peak))
            .field("peak_percent", each.peak_percent())
            .field("windows", each.windows);
    });
    write_outlook(json, report.outlook);
    list(json, "proposals", report.proposals, [&](const Proposal& each) {
        json.field("subject", each.subject)
            .field("now", each.now)
            .field("proposed", each.proposed)
            .field("because", each.because)
            .field("command", each.command);
    });
    json.close();
    return std::move(json).text();
}

}
