#pragma once
// Why an execution does not run: how things stand → an answer in words, with what would start it. Pure.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "domain/execution.h"
#include "domain/gate.h"
#include "domain/time.h"
#include "priority_queue/score.h"
#include "resource_manager/fair_shares.h"

namespace impresario::orchestrator {

/// A gate that is closed, or was.
struct GateRun {
    domain::Gate gate;
    /// The execution's own; otherwise its lane's.
    bool own = false;
    std::optional<domain::TimePoint> since;
    /// nullopt: it is closed still.
    std::optional<domain::TimePoint> until;
    /// How often it closed in that time, how many turns found it closed, for how long it was closed in all.
    int times = 1;
    std::int64_t seen = 0;
    std::optional<domain::Duration> closed_for;
    /// As they were at the first; in `gate` they are as at the last.
    std::vector<std::pair<std::string, std::string>> first_numbers;
};

/// One of those that go before it.
struct Ahead {
    domain::ExecutionId id;
    int priority = 0;
    domain::TimePoint created_at;
    priority_queue::Score score = 0;
    bool starving = false;
};

/// How many, or at least so many.
struct Count {
    std::int64_t value = 0;
    bool at_least = false;
};

/// How its lane did lately.
struct Pace {
    std::int64_t starts = 0;
    domain::Duration over{};
    /// Nine of ten of its executions run for at most so long.
    std::optional<domain::Duration> slow;
};

/// How its organization, and its type in it, stand by the fairness policy.
struct FairView {
    resource_manager::FairMeasure measure = resource_manager::FairMeasure::starts;
    resource_manager::FairStanding organization;
    resource_manager::FairStanding type;
};

/// How things stood at a time, as far as the tables tell.
struct Situation {
    domain::TimePoint at;
    /// Long gone: nothing can be changed about it.
    bool past = false;
    domain::Execution execution;
    domain::Duration max_wait = std::chrono::hours{4};
    /// Closed at that time, its own and its lane's, in any order.
    std::vector<GateRun> gates;
    /// The newest closings since it was ready, newest first.
    std::vector<GateRun> history;
    /// Of its lane, and of its organization's lanes that are not stopped; nullopt: not known.
    std::optional<Count> before_in_lane;
    std::optional<Count> before_overall;
    std::vector<Ahead> first;
    std::string rank_note;
    /// Some node leads.
    bool led = true;
    int most_per_turn = 100;
    Pace pace;
    /// Its type's endpoints by address.
    std::map<std::string, domain::EndpointId> endpoints;
    /// What the reader should know about how this was found out.
    std::vector<std::string> notes;
    /// Of one that waits, with a policy.
    std::optional<FairView> fair;
};

enum class Standing { ended, under_way, children, deciding, not_due, stopped, behind, next, unknown };
std::string_view name(Standing standing);

struct ScoreView {
    priority_queue::Score total = 0;
    priority_queue::ScoreParts parts;
    bool starving = false;
    /// When something else than its minutes changes it, and what.
    std::optional<domain::TimePoint> changes_at;
    std::string change;
};

/// One thing that somebody can do, and the command for it where there is one.
struct Change {
    std::string what;
    std::string command;
};

struct ExpectedStart {
    std::optional<domain::TimePoint> earliest;
    /// nullopt: nobody knows.
    std::optional<domain::TimePoint> latest;
    std::string why;
};

struct Explanation {
    Standing standing = Standing::next;
    /// One or two sentences.
    std::string why;
    /// Of what waits.
    std::optional<ScoreView> score;
    /// The closed gates in the order in which they are tried: the first is what stops it.
    std::vector<GateRun> blockers;
    /// What would start it, or bring it to what comes next; nullopt where it does not wait.
    std::optional<Change> change;
    std::optional<ExpectedStart> expected;
};

Explanation explain(const Situation& situation);

// explain_fair.cc
/// Whose share others go first for, with numbers; empty where shares have no say.
std::string shares_say(const Situation& situation, Standing standing, const std::vector<GateRun>& blockers);
/// What would give it more.
Change more_share(const Situation& situation);
// explain_change.cc
/// What opens this gate for the execution.
Change what_opens(const GateRun& run, const Situation& situation);
// explain_expected.cc
ExpectedStart expected_start(const Situation& situation, const std::vector<GateRun>& blockers);

}
