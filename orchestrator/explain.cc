#include "orchestrator/explain.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace impresario::orchestrator {

using domain::Execution;
using domain::Status;
using domain::TimePoint;

std::string_view name(Standing standing) {
    switch (standing) {
        case Standing::ended:
            return "ended";
        case Standing::under_way:
            return "under_way";
        case Standing::children:
            return "waits_for_children";
        case Standing::deciding:
            return "decided_by_sql";
        case Standing::not_due:
            return "not_due";
        case Standing::stopped:
            return "stopped";
        case Standing::behind:
            return "others_first";
        case Standing::next:
            return "next";
        case Standing::unknown:
            return "unknown";
    }
    return {};
}

namespace {

bool starving(const Situation& s) {
    const auto ready = s.execution.ready_at.value_or(s.execution.created_at);
    return s.at - ready > s.max_wait;
}

Standing standing(const Situation& s, bool stopped) {
    const Execution& e = s.execution;
    if (!e.foreign_status.empty()) return Standing::unknown;
    if (terminal(e.status)) return Standing::ended;
    if (e.holds_slot()) return Standing::under_way;
    if (e.open_children > 0) return Standing::children;
    if (e.status == Status::analyzing) return Standing::deciding;
    if (e.status != Status::queued && e.status != Status::retrying) return Standing::under_way;
    if (e.due_at && *e.due_at > s.at) return Standing::not_due;
    if (stopped) return Standing::stopped;
    const auto before = s.before_in_lane ? s.before_in_lane->value : 0;
    const auto overall = s.before_overall ? s.before_overall->value : before;
    // Everything that one turn may start goes together.
    return before > 0 || overall >= s.most_per_turn ? Standing::behind : Standing::next;
}

ScoreView score_of(const Situation& s) {
    const Execution& e = s.execution;
    ScoreView view;
    view.total = priority_queue::score(e.priority, e.created_at, s.at);
    view.parts = priority_queue::score_parts(e.priority, e.created_at, s.at);
    view.starving = starving(s);
    using std::chrono::minutes;
    const auto next = [&](TimePoint at, std::string change) {
        if (at <= s.at || (view.changes_at && *view.changes_at <= at)) return;
        view.changes_at = at;
        view.change = std::move(change);
    };
    next(e.created_at + minutes{30}, "50 points more for being older than 30 minutes");
    next(e.created_at + minutes{120}, "it grows no more with age: 120 minutes count at most");
    if (!e.due_at)
        next(domain::saturating_add(e.ready_at.value_or(e.created_at), s.max_wait),
             "it goes before all scores: it will have waited its type's max_wait");
    return view;
}

std::string others(const Count& count) {
    const auto many = (count.at_least ? "at least " : "") + std::to_string(count.value);
    return many + (count.value == 1 ? " other" : " others");
}

std::string attempt_text(const Execution& e) {
    if (!e.attempt) return "it is being dispatched";
    std::string text = "its attempt " + std::to_string(e.attempt->number);
    switch (e.attempt->state) {
        case domain::AttemptState::granted:
            text += " was given to a node that is about to send it";
            break;
        case domain::AttemptState::sending:
            text += " is being sent";
            break;
        case domain::AttemptState::accepted:
            text += " was accepted by the sub-workflow";
            break;
        case domain::AttemptState::unknown:
            text += " was sent and nobody knows whether it began";
            break;
        case domain::AttemptState::waiting_redelivery:
        case domain::AttemptState::closed:
            text += " waits to be sent again";
            break;
    }
    if (e.timeout_at) text += "; without a result by " + domain::rfc3339(*e.timeout_at) + " it counts as failed";
    return text;
}

/// What else goes first, once nothing stops it.
std::string and_others(const Situation& s) {
    if (!s.before_in_lane || s.before_in_lane->value == 0) return {};
    return "; " + others(*s.before_in_lane) + " of its lane " + (s.before_in_lane->value == 1 ? "goes" : "go") +
           " first";
}

std::string stopped_text(const Situation& s, const std::vector<GateRun>& blockers) {
    const auto& first = blockers.front();
    const auto& gate = first.gate;
    std::string text = first.own ? "a gate of its own is closed" : "its lane is stopped";
    if (first.since) text += " since " + domain::rfc3339(*first.since);
    text += ": " + std::string(name(gate.kind));
    if (!gate.subject.empty()) text += " (" + gate.subject + ")";
    if (!gate.detail.empty()) text += ", " + gate.detail;
    if (first.until && first.times > 1)
        text += " (closed " + std::to_string(first.times) + " times until " + domain::rfc3339(*first.until) + ")";
    if (blockers.size() > 1) {
        text += "; behind it is closed:";
        for (std::size_t i = 1; i < blockers.size(); ++i)
            text += (i > 1 ? ", " : " ") + std::string(name(blockers[i].gate.kind));
    }
    return text + and_others(s);
}

std::string why(const Situation& s, const Explanation& e) {
    const Execution& row = s.execution;
    switch (e.standing) {
        case Standing::unknown:
            return "a newer hub gave it the status " + row.foreign_status + ", which this one does not know";
        case Standing::ended: {
            std::string text = "it has ended: " + std::string(name(row.status));
            if (!row.reason.empty()) text += " (" + row.reason + ")";
            if (row.completed_at) text += " at " + domain::rfc3339(*row.completed_at);
            return text;
        }
        case Standing::under_way:
            return attempt_text(row);
        case Standing::children:
            return "it is done but for " + std::to_string(row.open_children) +
                   (row.open_children == 1 ? " child" : " children") + " with the items that failed";
        case Standing::deciding:
            return "an SQL caller decides about it (analyzing)" +
                   (row.due_at ? "; it is back in the queue at " + domain::rfc3339(*row.due_at) : std::string());
        case Standing::not_due:
            return row.status == Status::retrying
                       ? "its next try comes at " + domain::rfc3339(*row.due_at) +
                             (row.reason.empty() ? "" : ", the one before ended with: " + row.reason)
                       : "it is scheduled for " + domain::rfc3339(*row.due_at);
        case Standing::stopped:
            return stopped_text(s, e.blockers);
        case Standing::behind:
            if (s.before_in_lane && s.before_in_lane->value > 0)
                return "nothing stops it, but " + others(*s.before_in_lane) + " of its lane " +
                       (s.before_in_lane->value == 1 ? "goes" : "go") + " first";
            return "nothing stops it, but in all lanes " + others(*s.before_overall) +
                   " go first, and one turn starts " + std::to_string(s.most_per_turn);
        case Standing::next:
            return s.past ? "nothing stopped it: the next turn could start it"
                          : "nothing stops it: the next turn starts it";
    }
    return {};
}

}

Explanation explain(const Situation& s) {
    Explanation e;
    e.blockers = s.gates;
    // Kinds are named in the order in which they are tried; one that both the scheduler and the tables tell of is one.
    std::stable_sort(e.blockers.begin(), e.blockers.end(),
                     [](const GateRun& a, const GateRun& b) { return a.gate.kind < b.gate.kind; });
    std::set<std::tuple<domain::GateKind, std::string, bool>> met;
    std::erase_if(e.blockers,
                  [&](const GateRun& run) { return !met.emplace(run.gate.kind, run.gate.subject, run.own).second; });
    e.standing = standing(s, !e.blockers.empty());
    const bool waits = e.standing == Standing::not_due || e.standing == Standing::stopped ||
                       e.standing == Standing::behind || e.standing == Standing::next;
    e.why = why(s, e);
    if (!waits) {
        e.blockers.clear();
        return e;
    }
    const auto by_shares = shares_say(s, e.standing, e.blockers);
    if (!by_shares.empty()) e.why += "; " + by_shares;
    if (!s.led && !s.past)
        e.why = "no node leads at the moment, so nothing starts until one does (impresario nodes shows them). Then: " +
                e.why;
    e.score = score_of(s);
    if (s.past) return e;
    if (!s.led) {
        e.change = Change{"start a node, or wait until another has taken over", "impresario serve"};
    } else if (e.standing == Standing::not_due) {
        e.change = Change{"wait until " + domain::rfc3339(*s.execution.due_at), {}};
        if (s.execution.status == Status::queued && !s.execution.attempt)
            e.change->what += ", or move it: PATCH /v1/executions/" + s.execution.id.text() +
                              " with {\"scheduled_at\": \"" + domain::rfc3339(s.at) + "\"}";
    } else if (e.standing == Standing::stopped) {
        e.change = what_opens(e.blockers.front(), s);
    } else if (e.standing == Standing::behind) {
        e.change = Change{"wait for those before it, or raise its priority: PATCH /v1/executions/" +
                              s.execution.id.text() + " with {\"priority\": 100}",
                          {}};
    } else {
        e.change = Change{"nothing needs to be done", {}};
    }
    if (!by_shares.empty() && s.led) {
        const auto more = more_share(s);
        e.change->what += "; or " + more.what;
        if (e.change->command.empty()) e.change->command = more.command;
    }
    e.expected = expected_start(s, e.blockers);
    return e;
}

}
