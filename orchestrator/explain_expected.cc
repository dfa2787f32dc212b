// Of explain: when it is likely to start, from what its gates and its lane's recent past say, and what nobody can know.
#include <algorithm>

#include "orchestrator/explain.h"
#include "resource_manager/limiter.h"

namespace impresario::orchestrator {

using domain::Duration;
using domain::GateKind;
using domain::TimePoint;
using std::chrono::seconds;

namespace {

/// A turn comes at least so often.
constexpr Duration kTurn = seconds{1};

bool opens_with_the_next_end(const domain::Gate& gate) {
    if (gate.kind == GateKind::memory) return true;
    return gate.kind == GateKind::concurrency || gate.kind == GateKind::key_concurrency ||
           std::any_of(gate.numbers.begin(), gate.numbers.end(), [](const auto& n) { return n.first == "in_flight"; });
}

/// What is held for those that run may turn out to cost less, and comes back then.
bool holds_money(const domain::Gate& gate) {
    return gate.kind == GateKind::budget && std::any_of(gate.numbers.begin(), gate.numbers.end(), [](const auto& n) {
               return (n.first == "reserved" || n.first == "suspense") &&
                      n.second.find_first_not_of("0.") != std::string::npos;
           });
}

void say(std::string& why, const std::string& more) { why += (why.empty() ? "" : "; ") + more; }

/// From here to there that many ends, or starts, are likely to take: half as fast, and twice as fast as lately.
Duration times(double factor, Duration length) {
    return Duration{static_cast<std::int64_t>(std::min(factor * static_cast<double>(length.count()), 1e16))};
}

}

ExpectedStart expected_start(const Situation& s, const std::vector<GateRun>& blockers) {
    ExpectedStart expected;
    TimePoint earliest = s.at;
    std::optional<TimePoint> latest = s.at + kTurn;
    const auto not_before = [&](TimePoint at) {
        earliest = std::max(earliest, at);
        if (latest) latest = std::max(*latest, domain::saturating_add(at, kTurn));
    };
    if (!s.led) {
        latest.reset();
        say(expected.why, "nobody leads");
    }
    if (const auto due = s.execution.due_at; due && *due > s.at) {
        not_before(*due);
        say(expected.why, "it becomes due then");
    }
    for (const auto& each : blockers) {
        const auto& gate = each.gate;
        const std::string kind(name(gate.kind));
        if (gate.detail.find(resource_manager::kNeverGiven) != std::string::npos) {
            latest.reset();
            say(expected.why, kind + " (" + gate.subject + ") never gives so much: not before somebody changes it");
        } else if (gate.opens_at && holds_money(gate)) {
            if (latest) latest = std::max(*latest, domain::saturating_add(std::max(*gate.opens_at, s.at), kTurn));
            say(expected.why, kind + " opens by itself at " + domain::rfc3339(*gate.opens_at) +
                                  ", or earlier if what is reserved turns out to cost less");
        } else if (gate.opens_at) {
            not_before(std::max(*gate.opens_at, s.at));
            say(expected.why, kind + " opens by itself at " + domain::rfc3339(*gate.opens_at));
        } else if (opens_with_the_next_end(gate) && s.pace.slow) {
            if (latest) latest = domain::saturating_add(*latest, *s.pace.slow);
            say(expected.why, kind + " opens with the next end, and nine of ten of its lane run for at most " +
                                  domain::human(*s.pace.slow));
        } else {
            latest.reset();
            say(expected.why,
                opens_with_the_next_end(gate)
                    ? kind + " opens with the next end; how long its lane's executions run is not known yet"
                    : "when " + kind + " opens depends on somebody");
        }
    }
    const Count before = s.before_in_lane.value_or(Count{});
    const std::string ahead = before.value == 1 ? " goes before it" : " go before it";
    const bool at_once = blockers.empty() && before.value < s.most_per_turn;
    if (before.value > 0 && s.pace.starts > 1 && s.pace.over > Duration::zero()) {
        const double each = static_cast<double>(s.pace.over.count()) / static_cast<double>(s.pace.starts);
        const Duration needed{static_cast<std::int64_t>(std::min(each * static_cast<double>(before.value), 1e16))};
        if (!at_once) earliest = domain::saturating_add(earliest, times(0.5, needed));
        if (before.at_least) latest.reset();
        if (latest) latest = domain::saturating_add(*latest, times(2, needed));
        say(expected.why, std::to_string(before.value) + ahead + ", and its lane has started " +
                              std::to_string(s.pace.starts) + " in " + domain::human(s.pace.over));
    } else if (before.value > 0 && !at_once) {
        latest.reset();
        say(expected.why, std::to_string(before.value) + ahead + ", and its lane has started too few lately to tell");
    }
    if (expected.why.empty()) expected.why = "nothing stops it";
    expected.earliest = earliest;
    expected.latest = latest ? std::optional(std::max(*latest, earliest)) : std::nullopt;
    return expected;
}

}
