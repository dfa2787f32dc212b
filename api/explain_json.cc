#include "api/explain_json.h"

#include "platform/gate_json.h"
#include "platform/json_writer.h"

namespace impresario::api {

using orchestrator::Count;
using orchestrator::Explanation;
using orchestrator::GateRun;
using orchestrator::Situation;
using platform::JsonWriter;

namespace {

double points(priority_queue::Score score) {
    return static_cast<double>(score) / static_cast<double>(priority_queue::kPoint);
}

std::string gate_run(const GateRun& run) {
    const auto& gate = run.gate;
    JsonWriter json;
    json.open();
    json.field("of", run.own ? "execution" : "lane")
        .field("kind", name(gate.kind))
        .field("subject", gate.subject)
        .field("detail", gate.detail)
        .raw("numbers", platform::gate_numbers_json(gate));
    json.field("opens_at", gate.opens_at);
    json.field("since", run.since);
    json.field("until", run.until);
    domain::Gate first;
    first.numbers = run.first_numbers;
    json.raw("numbers_at_first", platform::gate_numbers_json(first)).field("times", run.times).field("seen", run.seen);
    json.raw("closed_seconds",
             run.closed_for ? std::to_string(domain::in_seconds(*run.closed_for)) : "null");
    json.close();
    return std::move(json).text();
}

void rank(JsonWriter& json, const Situation& s) {
    json.open("rank", '{');
    const auto place = [&](std::string_view key, const std::optional<Count>& before) {
        json.field(key, before ? std::optional(before->value + 1) : std::nullopt);
    };
    place("lane", s.before_in_lane);
    place("overall", s.before_overall);
    json.field("at_least",
               (s.before_in_lane && s.before_in_lane->at_least) || (s.before_overall && s.before_overall->at_least));
    json.field_or_null("note", s.rank_note);
    json.close();
}

void before(JsonWriter& json, const Situation& s) {
    json.open("before", '{');
    json.field("count", s.before_in_lane ? std::optional(s.before_in_lane->value) : std::nullopt);
    json.open("first", '[');
    for (const auto& each : s.first) {
        json.open();
        json.field("execution_id", each.id.text())
            .field("priority", each.priority)
            .field("created_at", domain::rfc3339(each.created_at))
            .field("score", points(each.score))
            .field("beyond_max_wait", each.starving);
        json.close();
    }
    json.close(']');
    json.close();
}

void score(JsonWriter& json, const Explanation& e) {
    if (!e.score) {
        json.raw("score", "null");
        return;
    }
    json.open("score", '{');
    json.field("total", points(e.score->total))
        .field("priority", e.score->parts.priority)
        .field("age", e.score->parts.age)
        .field("starvation", e.score->parts.starvation)
        .field("beyond_max_wait", e.score->starving);
    json.field("changes_at", e.score->changes_at);
    json.field_or_null("change", e.score->change);
    json.close();
}

void share(JsonWriter& json, const Situation& s) {
    if (!s.fair) {
        json.raw("share", "null");
        return;
    }
    json.open("share", '{');
    json.field("measure", name(s.fair->measure));
    const auto standing = [&](const char* key, const resource_manager::FairStanding& each) {
        json.open(key, '{');
        json.field("weight", each.share.weight)
            .field("minimum_percent", each.share.minimum_percent)
            .field("asked_percent", each.asked_percent)
            .field("had_percent", each.had_percent)
            .field("started", each.started)
            .field("below_minimum", each.below_minimum)
            .field("behind", each.behind);
        json.close();
    };
    standing("organization", s.fair->organization);
    standing("type", s.fair->type);
    json.close();
}

}

std::string explain_json(const Situation& s, const Explanation& e) {
    const auto& row = s.execution;
    JsonWriter json;
    json.open();
    json.field("execution_id", row.id.text())
        .field("workflow_type", row.lane.workflow_type)
        .field("at", domain::rfc3339(s.at))
        .field("past", s.past)
        .field("status", row.foreign_status.empty() ? name(row.status) : std::string_view(row.foreign_status))
        .field("standing", orchestrator::name(e.standing))
        .field("why", e.why)
        .field("priority", row.priority);
    json.field("ready_at", row.ready_at);
    json.field("due_at", row.due_at);
    score(json, e);
    if (e.score) {
        rank(json, s);
        before(json, s);
    } else {
        json.raw("rank", "null").raw("before", "null");
    }
    share(json, s);
    json.raw("blocker", e.blockers.empty() ? "null" : gate_run(e.blockers.front()));
    json.open("behind_it", '[');
    for (std::size_t i = 1; i < e.blockers.size(); ++i) json.element(gate_run(e.blockers[i]));
    json.close(']');
    if (e.change) {
        json.open("change", '{');
        json.field("what", e.change->what);
        json.field_or_null("command", e.change->command);
        json.close();
    } else {
        json.raw("change", "null");
    }
    if (e.expected) {
        json.open("expected_start", '{');
        json.field("earliest", e.expected->earliest);
        json.field("latest", e.expected->latest);
        json.field("why", e.expected->why).close();
    } else {
        json.raw("expected_start", "null");
    }
    json.open("gates", '[');
    for (const auto& run : s.history) json.element(gate_run(run));
    json.close(']');
    json.texts("notes", s.notes);
    json.close();
    return std::move(json).text();
}

}
