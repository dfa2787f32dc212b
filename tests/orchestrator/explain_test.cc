#include "orchestrator/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "orchestrator/board.h"
#include "orchestrator/decide.h"
#include "orchestrator/explain_past.h"
#include "orchestrator/plan.h"
#include "orchestrator/switched_off.h"
#include "priority_queue/order.h"
#include "resource_manager/limiter.h"

namespace impresario::orchestrator {
namespace explain_test {

using domain::Execution;
using domain::ExecutionId;
using domain::Gate;
using domain::GateKind;
using domain::Lane;
using domain::Status;
using domain::TimePoint;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;

const TimePoint kNow{hours{500000}};
const Lane kLane{"default", "a"};

Execution waiting(int priority = 50, domain::Duration age = minutes{10}) {
    Execution row;
    row.id.value[15] = 1;
    row.lane = kLane;
    row.priority = priority;
    row.created_at = row.scheduled_at = kNow - age;
    row.ready = true;
    row.ready_at = row.created_at;
    return row;
}

Situation calm() {
    Situation s;
    s.at = kNow;
    s.execution = waiting();
    s.before_in_lane = s.before_overall = Count{};
    return s;
}

GateRun closed(GateKind kind, std::string subject, std::string detail = "why",
               std::vector<std::pair<std::string, std::string>> numbers = {},
               std::optional<TimePoint> opens_at = std::nullopt) {
    GateRun run;
    run.gate = {kind, std::move(subject), std::move(detail), std::move(numbers), opens_at};
    run.since = kNow - seconds{30};
    return run;
}

TEST(Explain, WhatDoesNotWaitIsSaidToBeWhatItIs) {
    auto s = calm();
    s.gates = {closed(GateKind::paused, "a")};
    s.execution.status = Status::completed;
    s.execution.completed_at = kNow;
    auto e = explain(s);
    EXPECT_EQ(e.standing, Standing::ended);
    EXPECT_THAT(e.why, HasSubstr("it has ended: completed"));
    EXPECT_TRUE(e.blockers.empty());
    EXPECT_FALSE(e.score || e.change || e.expected);

    s.execution = waiting();
    s.execution.status = Status::running;
    s.execution.attempt = domain::LiveAttempt{};
    s.execution.attempt->state = domain::AttemptState::unknown;
    EXPECT_EQ(explain(s).standing, Standing::under_way);
    EXPECT_THAT(explain(s).why, HasSubstr("nobody knows whether it began"));

    s.execution.attempt.reset();
    s.execution.open_children = 1;
    EXPECT_EQ(explain(s).standing, Standing::children);

    s.execution = waiting();
    s.execution.status = Status::analyzing;
    EXPECT_EQ(explain(s).standing, Standing::deciding);

    s.execution = waiting();
    s.execution.foreign_status = "pondering";
    EXPECT_THAT(explain(s).why, HasSubstr("pondering"));
}

TEST(Explain, WithNothingInItsWayItIsNext) {
    const auto e = explain(calm());
    EXPECT_EQ(e.standing, Standing::next);
    EXPECT_EQ(e.expected->earliest, kNow);
    ASSERT_TRUE(e.expected->latest);
    EXPECT_LE(*e.expected->latest, kNow + seconds{1});
}

TEST(Explain, WithoutALeaderThatComesFirst) {
    auto s = calm();
    s.led = false;
    const auto e = explain(s);
    EXPECT_THAT(e.why, HasSubstr("no node leads"));
    EXPECT_EQ(e.change->command, "impresario serve");
    EXPECT_FALSE(e.expected->latest);
}

TEST(Explain, ThoseBeforeItAreNamedAsTheReason) {
    auto s = calm();
    s.before_in_lane = s.before_overall = Count{12, false};
    s.pace = {40, seconds{20}, {}};
    s.most_per_turn = 10;
    const auto e = explain(s);
    EXPECT_EQ(e.standing, Standing::behind);
    EXPECT_THAT(e.why, HasSubstr("12 others of its lane go first"));
    EXPECT_EQ(e.expected->earliest, kNow + seconds{3}) << "twice as fast as lately";
    EXPECT_EQ(e.expected->latest, kNow + seconds{13}) << "half as fast, and a turn";
    EXPECT_THAT(e.change->what, HasSubstr("priority"));

    s.before_in_lane = Count{};
    s.before_overall = Count{200, false};
    EXPECT_EQ(explain(s).standing, Standing::behind) << "more than one turn starts";
    EXPECT_THAT(explain(s).why, HasSubstr("in all lanes 200 others go first"));
}

TEST(Explain, TheScoreIsTakenApart) {
    auto s = calm();
    auto score = *explain(s).score;
    EXPECT_EQ(score.total, priority_queue::score(50, kNow - minutes{10}, kNow));
    EXPECT_EQ(score.parts.age, 10);
    EXPECT_EQ(score.changes_at, kNow + minutes{20});
    EXPECT_THAT(score.change, HasSubstr("50 points more"));
    s.execution = waiting(50, minutes{40});
    score = *explain(s).score;
    EXPECT_EQ(score.changes_at, kNow + minutes{80});
    s.execution = waiting(50, minutes{150});
    score = *explain(s).score;
    EXPECT_EQ(score.changes_at, kNow + minutes{90});
    EXPECT_THAT(score.change, HasSubstr("max_wait"));
    s.execution = waiting(50, hours{5});
    score = *explain(s).score;
    EXPECT_TRUE(score.starving);
    EXPECT_FALSE(score.changes_at);
}

TEST(Explain, NotYetDue) {
    auto s = calm();
    s.execution.due_at = kNow + minutes{5};
    auto e = explain(s);
    EXPECT_EQ(e.standing, Standing::not_due);
    EXPECT_THAT(e.change->what, HasSubstr("wait until " + domain::rfc3339(kNow + minutes{5})));
    EXPECT_THAT(e.change->what, HasSubstr("PATCH"));
    EXPECT_EQ(e.expected->earliest, kNow + minutes{5});
    s.execution.status = Status::retrying;
    e = explain(s);
    EXPECT_THAT(e.why, HasSubstr("its next try comes at"));
    EXPECT_THAT(e.change->what, ::testing::Not(HasSubstr("PATCH"))) << "a retry cannot be moved";
}

struct Remedy {
    const char* name;
    GateRun run;
    const char* what;
    std::string command;
    /// Whether anybody can know when.
    bool known;
};

TEST(Explain, WhatHasGoneByIsNotWaitedFor) {
    auto s = calm();
    s.gates = {closed(GateKind::provider, "gemini rpm", "", {{"limit", "60"}}, kNow - seconds{5})};
    EXPECT_THAT(explain(s).change->what, ::testing::Not(HasSubstr("wait")));
}

TEST(Explain, WhatIsNeverGivenIsNotExpectedOfTheNextEnd) {
    auto s = calm();
    s.pace.slow = seconds{20};
    s.gates = {closed(GateKind::provider, "gemini rpm",
                      "asks 100 of 60 requests per minute, " + std::string(resource_manager::kNeverGiven),
                      {{"in_flight", "3"}})};
    const auto e = explain(s);
    EXPECT_FALSE(e.expected->latest);
    EXPECT_THAT(e.expected->why, HasSubstr("provider (gemini rpm) never gives so much"));
}

TEST(Explain, EveryGateSaysWhatOpensIt) {
    const std::string show = "impresario types show a --json | ";
    domain::EndpointId endpoint;
    endpoint.value[0] = 7;
    const Remedy remedies[] = {
        {"lane", closed(GateKind::paused, "a"), "resume the workflow type", "impresario resume a", false},
        {"until", closed(GateKind::paused, "a", "", {}, kNow + hours{1}), "wait until", "impresario resume a", true},
        {"organization", closed(GateKind::paused, "default"), "resume the organization", "impresario resume", false},
        {"everything", closed(GateKind::paused, "everything"), "resume everything", "", false},
        {"off", closed(GateKind::paused, "a", std::string(kSwitchedOff) + "; until it is resumed"), "switch",
         show + "jq '.enabled = true' | impresario types put a -", false},
        {"gone", closed(GateKind::paused, "a", std::string(kNotRegistered)), "register", "impresario types put a -",
         false},
        {"full", closed(GateKind::concurrency, "a", "", {{"in_use", "2"}, {"limit", "2"}}), "max_concurrency",
         show + "jq '.max_concurrency = 3' | impresario types put a -", true},
        {"key", closed(GateKind::key_concurrency, "k", "", {{"in_use", "1"}, {"limit", "1"}}), "concurrency_key_limit",
         show + "jq '.concurrency_key_limit = 2' | impresario types put a -", true},
        {"held", closed(GateKind::endpoint, "http://x/", "", {}, kNow + seconds{5}), "mend",
         show + "impresario types put a -", true},
        {"busy", closed(GateKind::endpoint, "a", "", {{"in_flight", "4"}, {"limit", "4"}}), "max_in_flight", "", true},
        {"none", closed(GateKind::endpoint, "a"), "give the workflow type an endpoint", "impresario types put a -",
         false},
        {"tripped", closed(GateKind::breaker, "http://x/"), "reset the breaker",
         "impresario endpoints reset a " + endpoint.text(), false},
        {"open", closed(GateKind::breaker, "http://x/", "", {}, kNow + seconds{5}), "wait until",
         "impresario endpoints reset a " + endpoint.text(), true},
        {"provider", closed(GateKind::provider, "gemini rpm", "", {{"limit", "60"}}, kNow + seconds{5}),
         "raise the limit rpm of the provider gemini",
         "impresario providers show gemini; impresario providers put gemini @limits.json", true},
        {"key limit", closed(GateKind::key_limit, "gemini rpm acme corp", "", {{"ceiling", "5"}}, kNow + seconds{5}),
         "raise per_key.ceiling of the limit rpm of the provider gemini",
         "impresario providers show gemini; impresario providers put gemini @limits.json", true},
        {"kept for others", closed(GateKind::key_limit, "gemini rpm", "", {{"kept", "5"}}),
         "raise the limit rpm of the provider gemini",
         "impresario providers show gemini; impresario providers put gemini @limits.json", false},
        {"memory", closed(GateKind::memory, "a", "2048 of 2048 MB are reserved", {{"asks_mb", "512"}}),
         "lower memory_mb of the workflow type", show + "jq '.memory_mb = null' | impresario types put a -", true},
        {"budget", closed(GateKind::budget, "daily", "10 of 10 USD are spent", {}, kNow + hours{3}),
         "raise the limit of the budget daily: 10 of 10 USD are spent",
         "impresario budgets show daily; impresario budgets put daily @budget.json", true},
        {"no room",
         closed(GateKind::budget, "daily", "",
                {{"asks", "1.500000"}, {"settled", "9.000000"}, {"reserved", "0.250001"}, {"suspense", "0.000000"}}),
         "raise the limit of the budget daily to at least 10.760000 USD",
         "impresario budgets show daily; impresario budgets put daily @budget.json", false},
        // At 85 % of it the step goes on; 10.588236 would do.
        {"a step",
         closed(GateKind::budget, "daily", "",
                {{"asks", "0.500000"},
                 {"settled", "9.000000"},
                 {"reserved", "0.000000"},
                 {"suspense", "0.000000"},
                 {"undone_below_percent", "85"}}),
         "raise the limit of the budget daily to at least 10.590000 USD",
         "impresario budgets show daily; impresario budgets put daily @budget.json", false},
    };
    for (const auto& each : remedies) {
        SCOPED_TRACE(each.name);
        auto s = calm();
        s.endpoints["http://x/"] = endpoint;
        s.pace.slow = seconds{20};
        s.gates = {each.run};
        const auto e = explain(s);
        EXPECT_EQ(e.standing, Standing::stopped);
        EXPECT_THAT(e.why, HasSubstr(std::string(name(each.run.gate.kind))));
        EXPECT_THAT(e.why, HasSubstr("since " + domain::rfc3339(*each.run.since)));
        ASSERT_TRUE(e.change);
        EXPECT_THAT(e.change->what, HasSubstr(each.what));
        EXPECT_EQ(e.change->command, each.command);
        EXPECT_EQ(e.expected->latest.has_value(), each.known) << e.expected->why;
        if (each.run.gate.opens_at) EXPECT_EQ(e.expected->earliest, *each.run.gate.opens_at);
    }
}

TEST(Explain, WhatABudgetHoldsMayComeBackBeforeItTurns) {
    auto s = calm();
    const auto turns = kNow + hours{3};
    const auto expected = [&](const std::string& reserved, const std::string& suspense) {
        s.gates = {closed(GateKind::budget, "daily", "", {{"reserved", reserved}, {"suspense", suspense}}, turns)};
        return *explain(s).expected;
    };
    EXPECT_EQ(expected("0.000000", "0.000000").earliest, turns);
    for (const auto& held : {expected("3.000000", "0.000000"), expected("0.000000", "0.100000")}) {
        EXPECT_EQ(held.earliest, kNow);
        EXPECT_EQ(held.latest, turns + seconds{1});
        EXPECT_THAT(held.why, HasSubstr("or earlier if what is reserved turns out to cost less"));
    }
}

TEST(Explain, SeveralGatesAreNamedInTheOrderTheyAreTried) {
    auto s = calm();
    s.gates = {closed(GateKind::provider, "gemini rpm"), closed(GateKind::concurrency, "a"),
               closed(GateKind::paused, "a"), closed(GateKind::paused, "a")};
    const auto e = explain(s);
    ASSERT_EQ(e.blockers.size(), 3U) << "what the scheduler and the tables both tell of is one";
    EXPECT_EQ(e.blockers[0].gate.kind, GateKind::paused);
    EXPECT_EQ(e.blockers[1].gate.kind, GateKind::concurrency);
    EXPECT_THAT(e.why, HasSubstr("behind it is closed: concurrency, provider"));
}

TEST(Explain, OfThePastNothingIsAdvised) {
    auto s = calm();
    s.past = true;
    s.led = false;
    s.gates = {closed(GateKind::paused, "a")};
    const auto e = explain(s);
    EXPECT_EQ(e.standing, Standing::stopped);
    EXPECT_FALSE(e.change || e.expected);
    EXPECT_THAT(e.why, ::testing::Not(HasSubstr("leads")));
}

// ---- Every candidate that a turn passed over has an answer ----------------------------------------------------------

ExecutionId id_of(int n) {
    ExecutionId id;
    id.value[14] = static_cast<std::uint8_t>(n / 256);
    id.value[15] = static_cast<std::uint8_t>(n % 256);
    return id;
}

/// A catalogue and rows drawn at random: types that are missing, off, paused, full, keyed, held.
struct Day {
    std::mt19937 dice;
    Operations operations;
    subworkflows::Catalogue catalogue;
    std::map<ExecutionId, Execution> rows;
    int most = 1 + static_cast<int>(dice() % 30);

    explicit Day(unsigned seed) : dice(seed) {
        const auto lanes = 1 + dice() % 5;
        for (std::size_t l = 0; l < lanes; ++l) {
            subworkflows::WorkflowType type;
            type.lane = {"default", "lane" + std::to_string(l)};
            subworkflows::Endpoint endpoint;
            endpoint.id.value[0] = static_cast<std::uint8_t>(l + 1);
            endpoint.url = "http://" + type.lane.workflow_type + "/";
            if (dice() % 6 == 0) endpoint.held_until = kNow + seconds{30};
            if (dice() % 6 == 0) {
                endpoint.breaker.state = domain::BreakerState::open;
                endpoint.breaker.until = kNow + seconds{60};
            }
            if (dice() % 8) type.endpoints = {endpoint};
            type.enabled = dice() % 8;
            if (dice() % 2) type.max_concurrency = 1 + static_cast<int>(dice() % 5);
            if (dice() % 2) type.concurrency_key = "/k";
            if (dice() % 8) catalogue.types[type.lane] = type;
            if (dice() % 6 == 0)
                catalogue.pauses.push_back({dice() % 2 ? "default" : "", type.lane.workflow_type, "", "", kNow, {}});
            for (std::size_t n = 0; n < dice() % 40; ++n) {
                Execution row = waiting(static_cast<int>(dice() % 101), seconds{1 + dice() % 20000});
                row.id = id_of(static_cast<int>(rows.size() + 1));
                row.lane = type.lane;
                if (!type.concurrency_key.empty() && dice() % 2)
                    row.concurrency_key = std::string(1, "xyz"[dice() % 3]);
                row.last_seq = 1;
                if (dice() % 8 == 0) {
                    row.ready = false;
                    row.status = Status::running;
                    row.attempt = domain::LiveAttempt{};
                    row.attempt->state = domain::AttemptState::accepted;
                    row.timeout_at = kNow + hours{1};
                }
                rows[row.id] = row;
            }
        }
    }

    std::unique_ptr<Board> board() {
        auto made = std::make_unique<Board>(operations, [] { return kNow; });
        made->set_catalogue(std::make_shared<subworkflows::Catalogue>(catalogue));
        for (const auto& [id, row] : rows) made->observe(row);
        return made;
    }

    static bool before(const Execution& a, const Execution& b) {
        const auto starves = [](const Execution& e) { return kNow - *e.ready_at > hours{4}; };
        if (starves(a) != starves(b)) return starves(a);
        if (starves(a)) return std::tie(*a.ready_at, a.id) < std::tie(*b.ready_at, b.id);
        const auto sa = priority_queue::score(a.priority, a.created_at, kNow);
        const auto sb = priority_queue::score(b.priority, b.created_at, kNow);
        return sa != sb ? sa > sb : std::tie(a.created_at, a.id) < std::tie(b.created_at, b.id);
    }
};

/// What the tables say once the scheduler has written down what it found.
Situation told(Day& day, const Board& board, const Plan& planned, const Execution& row) {
    auto s = calm();
    s.execution = row;
    s.most_per_turn = day.most;
    for (const auto& note : board.gate_notes(1000))
        if (note.execution == row.id && note.gate) {
            auto run = closed(note.gate->kind, note.gate->subject);
            run.gate = *note.gate;
            run.own = true;
            s.gates.push_back(run);
        }
    const auto gate = planned.gates.find(row.lane);
    if (gate != planned.gates.end() && gate->second) {
        GateRun run;
        run.gate = *gate->second;
        s.gates.push_back(run);
    }
    std::set<ExecutionId> granted;
    for (const auto& each : planned.grants) granted.insert(each.execution);
    for (const auto& [id, other] : day.rows) {
        if (!other.claimable() || !Day::before(other, row)) continue;
        const auto closed_lane = planned.gates.find(other.lane);
        const bool counts = granted.contains(id) || closed_lane == planned.gates.end() || !closed_lane->second;
        if (other.lane == row.lane) ++s.before_in_lane->value;
        if (counts || other.lane == row.lane) ++s.before_overall->value;
    }
    return s;
}

TEST(Explain, EveryCandidateThatATurnPassedOverHasAnAnswer) {
    int passed_over = 0;
    std::map<Standing, int> met;
    for (unsigned seed = 0; seed < 400; ++seed) {
        Day day(seed);
        const auto board = day.board();
        const auto planned = plan(board->plan_input(day.most), kNow);
        std::set<ExecutionId> granted;
        for (const auto& each : planned.grants) granted.insert(each.execution);
        for (const auto& [id, row] : day.rows) {
            if (granted.contains(id) || !row.claimable()) continue;
            SCOPED_TRACE(std::to_string(seed) + " " + id.text());
            ++passed_over;
            const auto s = told(day, *board, planned, row);
            const auto e = explain(s);
            ++met[e.standing];
            EXPECT_FALSE(e.why.empty());
            ASSERT_TRUE(e.change && e.expected && e.score);
            EXPECT_FALSE(e.change->what.empty());
            EXPECT_FALSE(e.expected->why.empty());
            // It was passed over, so something must have been in its way.
            ASSERT_TRUE(e.standing == Standing::stopped || e.standing == Standing::behind) << e.why;
            if (e.standing == Standing::stopped) {
                ASSERT_FALSE(e.blockers.empty());
                const auto gate = planned.gates.find(row.lane);
                const bool whole_lane = gate != planned.gates.end() && gate->second;
                EXPECT_TRUE(whole_lane || e.blockers.front().own);
            } else {
                EXPECT_TRUE(planned.more || s.before_in_lane->value > 0);
            }
        }
    }
    EXPECT_GT(passed_over, 5000);
    EXPECT_GT(met[Standing::stopped], 500);
    EXPECT_GT(met[Standing::behind], 200);
}

/// Does to the catalogue what the blocker's change says.
bool remove(Day& day, const Execution& row, const GateRun& blocker) {
    auto& catalogue = day.catalogue;
    const auto type = catalogue.types.find(row.lane);
    switch (blocker.gate.kind) {
        case GateKind::paused:
            if (blocker.gate.detail.starts_with(kNotRegistered)) {
                subworkflows::WorkflowType made;
                made.lane = row.lane;
                catalogue.types[row.lane] = made;
            } else if (blocker.gate.detail.starts_with(kSwitchedOff)) {
                type->second.enabled = true;
            } else {
                std::erase_if(catalogue.pauses, [&](const auto& pause) { return pause.covers(type->second); });
            }
            return true;
        case GateKind::concurrency:
            type->second.max_concurrency = 1000;
            return true;
        case GateKind::key_concurrency:
            type->second.concurrency_key_limit = 1000;
            return true;
        case GateKind::endpoint:
            if (type->second.endpoints.empty()) {
                subworkflows::Endpoint made;
                made.id.value[1] = 1;
                made.id.value[2] = static_cast<std::uint8_t>(row.lane.workflow_type.back());
                type->second.endpoints = {made};
            } else if (type->second.endpoints.front().held_until) {
                type->second.endpoints.front().held_until.reset();
            } else {
                return false;  // So many at a time: the next answer lets one in.
            }
            return true;
        case GateKind::breaker:
            if (type->second.endpoints.front().breaker.state == domain::BreakerState::closed) return false;
            type->second.endpoints.front().breaker = {};
            return true;
        default:
            return false;
    }
}

TEST(Explain, WithTheBlockerRemovedItStartsOrTheNextIsNamed) {
    int started = 0;
    for (unsigned seed = 0; seed < 200; ++seed) {
        Day day(seed);
        const auto ids = [&] {
            std::vector<ExecutionId> all;
            for (const auto& [id, row] : day.rows)
                if (row.claimable()) all.push_back(id);
            return all;
        }();
        if (ids.empty()) continue;
        const auto row = day.rows[ids[day.dice() % ids.size()]];
        std::set<std::string> named;
        for (int step = 0;; ++step) {
            ASSERT_LT(step, 10) << seed;
            const auto board = day.board();
            const auto planned = plan(board->plan_input(day.most), kNow);
            if (std::any_of(planned.grants.begin(), planned.grants.end(),
                            [&](const PlannedGrant& each) { return each.execution == row.id; })) {
                ++started;
                break;
            }
            const auto e = explain(told(day, *board, planned, row));
            if (e.standing == Standing::behind) break;
            ASSERT_EQ(e.standing, Standing::stopped) << seed << " " << e.why;
            const auto& gate = e.blockers.front().gate;
            const auto text = std::string(name(gate.kind)) + " " + gate.subject + " " + gate.detail;
            EXPECT_TRUE(named.insert(text).second) << seed << ": named again, though it was removed: " << text;
            if (!remove(day, row, e.blockers.front())) break;
        }
    }
    EXPECT_GT(started, 40);
}

// ---- The past, from the events --------------------------------------------------------------------------------------

/// A life drawn at random through the real decisions: what the row was after each is what its events must tell.
TEST(Explain, ThePastIsToldByTheEvents) {
    int compared = 0;
    for (unsigned seed = 0; seed < 500; ++seed) {
        std::mt19937 dice(seed);
        subworkflows::WorkflowType type;
        type.lane = kLane;
        Circumstances c;
        c.type = &type;
        c.now = kNow;
        Execution row = waiting(static_cast<int>(dice() % 101), {});
        row.last_seq = 1;
        std::vector<journal::StoredEvent> events{{1, "execution.queued", kNow,
                                                  R"({"priority":)" + std::to_string(row.priority) +
                                                      R"(,"scheduled_at":")" + domain::rfc3339(row.scheduled_at) +
                                                      "\"}"}};
        std::vector<std::pair<TimePoint, Execution>> was{{c.now, row}};
        const auto take = [&](const Decision& decision) {
            if (!decision.changed) return;
            row = decision.after;
            for (const auto& event : decision.events)
                events.push_back({event.seq, std::string(event.type), c.now, event.payload});
            was.emplace_back(c.now, row);
        };
        const auto tell = [&](Happening happening) {
            Command command;
            command.execution = row.id;
            command.happening = std::move(happening);
            take(decide(row, command, c));
        };
        for (int step = 0; step < 40; ++step) {
            c.now += seconds{1 + dice() % 100};
            switch (dice() % 8) {
                case 0:
                case 1: {
                    GrantTerms terms;
                    terms.own = dice() % 2;
                    if (auto decision = decide_grant(row, terms, c)) take(*decision);
                    break;
                }
                case 2:
                    if (auto decision =
                            decide_gate(row,
                                        dice() % 2 ? std::optional(Gate{GateKind::key_concurrency, "k", "d", {}, {}})
                                                   : std::nullopt,
                                        c.now))
                        take(*decision);
                    break;
                case 3:
                    tell(BecameDue{});
                    break;
                case 4: {
                    Reprioritise change;
                    if (dice() % 2) change.priority = static_cast<int>(dice() % 101);
                    if (dice() % 2) change.scheduled_at = c.now + seconds{static_cast<int>(dice() % 200) - 100};
                    tell(change);
                    break;
                }
                case 5:
                    if (row.attempt) {
                        c.now = std::max(c.now, row.timeout_at.value_or(c.now));
                        tell(DeadlinePassed{row.attempt->id});
                    }
                    break;
                case 6:
                    if (row.attempt) tell(NeverSent{row.attempt->id, row.attempt->fence});
                    break;
                default:
                    if (dice() % 8 == 0) tell(Cancel{"test", "test"});
                    if (dice() % 2) tell(Reopen{});
            }
        }
        for (std::size_t i = 0; i < was.size(); ++i) {
            SCOPED_TRACE(std::to_string(seed) + " " + std::to_string(i));
            if (i + 1 < was.size() && was[i + 1].first == was[i].first) continue;
            const auto& [at, then] = was[i];
            const auto told = trace(row, events, at);
            ++compared;
            ASSERT_EQ(name(told.then.status), name(then.status));
            ASSERT_EQ(told.then.priority, then.priority);
            ASSERT_EQ(told.then.due_at, then.due_at);
            ASSERT_EQ(told.then.ready, then.ready);
            ASSERT_EQ(told.then.holds_slot(), then.holds_slot());
            ASSERT_EQ(told.then.gate.has_value(), then.gate.has_value());
            if (then.gate) EXPECT_EQ(told.then.gate_since, then.gate_since);
            if (then.ready) EXPECT_EQ(told.then.ready_at, then.ready_at);
        }
    }
    EXPECT_GT(compared, 5000);
}

}
}
