#include "orchestrator/board.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace impresario::orchestrator {
namespace board_test {

using domain::AttemptState;
using domain::Execution;
using domain::Lane;
using domain::Status;
using domain::TimePoint;
using std::chrono::seconds;

const TimePoint kStart{std::chrono::hours{500000}};
const Lane kLane{"default", "keyed"};

Execution waiting(int n, const std::string& key = "") {
    Execution row;
    row.id.value[14] = static_cast<std::uint8_t>(n / 256);
    row.id.value[15] = static_cast<std::uint8_t>(n % 256);
    row.lane = kLane;
    row.created_at = row.scheduled_at = kStart + seconds{n};
    row.status = Status::queued;
    row.ready = true;
    row.ready_at = row.created_at;
    row.concurrency_key = key;
    row.last_seq = 1;
    return row;
}

/// The next committed state of a row, drawn at random: started, moved on, back in the queue, put off, ended.
Execution next(Execution row, std::mt19937& random) {
    ++row.last_seq;
    row.attempt.reset();
    row.due_at.reset();
    row.timeout_at.reset();
    row.ready = false;
    switch (random() % 5) {
        case 0:
        case 1: {
            row.status = random() % 2 ? Status::dispatching : Status::running;
            row.attempt = domain::LiveAttempt{};
            row.attempt->state = row.status == Status::running ? AttemptState::accepted : AttemptState::sending;
            row.attempt->id.value[15] = static_cast<std::uint8_t>(row.last_seq);
            row.timeout_at = kStart + seconds{static_cast<int>(random() % 1000)};
            break;
        }
        case 2:
            row.status = Status::queued;
            row.ready = true;
            break;
        case 3:
            row.status = Status::retrying;
            row.due_at = kStart + seconds{static_cast<int>(random() % 1000)};
            break;
        default:
            row.status = random() % 2 ? Status::completed : Status::dead;
    }
    return row;
}

Execution sending(int n, int seq, TimePoint timeout_at) {
    Execution row = waiting(n);
    row.ready = false;
    row.status = Status::dispatching;
    row.attempt = domain::LiveAttempt{};
    row.attempt->state = AttemptState::sending;
    row.timeout_at = timeout_at;
    row.last_seq = seq;
    return row;
}

subworkflows::CataloguePtr catalogue() {
    subworkflows::WorkflowType type;
    type.lane = kLane;
    type.concurrency_key = "/k";
    type.concurrency_key_limit = 2;
    auto all = std::make_shared<subworkflows::Catalogue>();
    all->types[kLane] = type;
    return all;
}

TEST(Board, WhatBecomesDueDuringAReadingIsNotForgotten) {
    Operations operations;
    Board board(operations, [] { return domain::TimePoint{}; });
    Execution row = waiting(1);
    row.status = Status::retrying;
    row.ready = false;
    row.due_at = kStart + seconds{7};

    board.begin_due_reading();
    board.observe(row);  // committed after the reading's snapshot
    board.end_due_reading(std::nullopt);
    EXPECT_EQ(board.next_due(), row.due_at);

    board.begin_due_reading();
    board.end_due_reading(kStart + seconds{30});
    EXPECT_EQ(board.next_due(), kStart + seconds{30}) << "what was known before is replaced";

    row.last_seq = 2;
    row.due_at = kStart + seconds{40};
    board.begin_due_reading();
    board.observe(row);
    board.end_due_reading(kStart + seconds{35});
    EXPECT_EQ(board.next_due(), kStart + seconds{35});
}

/// A callback comes while a new scheduler still reads its tables.
TEST(Board, WhatIsLearntWhileEstimatesAreReadIsKept) {
    Operations operations;
    Board board(operations, [] { return domain::TimePoint{}; });
    const auto known = [&board] {
        std::set<domain::Lane> lanes;
        for (const auto changed = board.take_changed_estimates(); const auto& [lane, estimates] : changed)
            lanes.insert(lane);
        return lanes;
    };
    Execution ended;
    ended.lane = kLane;
    board.learn(ended, {domain::MicroUsd{5}, std::nullopt, seconds{1}});
    board.set_estimates({});
    EXPECT_EQ(known(), std::set{kLane});
    EXPECT_TRUE(known().empty());
}

TEST(Board, OthersAreNotEstimatedByWhatIsNotTypical) {
    Operations operations;
    Board board(operations, [] { return domain::TimePoint{}; });
    Execution failed;
    failed.lane = kLane;
    board.learn(failed, {domain::MicroUsd{5}, std::nullopt, seconds{1}, false});
    EXPECT_TRUE(board.take_changed_estimates().empty());
}

/// What a start counts for its shares: as estimated, then as it was, and nothing if it was not sent.
TEST(Board, SharesCountWhatStartsTook) {
    Operations operations;
    const TimePoint now = kStart + seconds{100};
    Board board(operations, [&] { return now; });
    subworkflows::WorkflowType type;
    type.lane = kLane;
    type.cost_estimate = domain::MicroUsd{1'000'000};
    type.max_wait = std::chrono::hours{1};
    subworkflows::Endpoint endpoint;
    endpoint.max_in_flight = 100;
    type.endpoints = {endpoint};
    const auto all = std::make_shared<subworkflows::Catalogue>();
    all->types[kLane] = type;
    board.set_catalogue(all);
    auto policy = std::make_shared<resource_manager::FairnessPolicy>();
    policy->measure = resource_manager::FairMeasure::dollars;
    board.set_fairness(policy);
    const auto started = [&] { return board.shares()->standings(now).front().started; };
    const auto grant = [&](int n) {
        board.observe(waiting(n));
        auto planned = plan(board.plan_input(10), now);
        board.see_shares(planned, true);
        const Execution row = sending(n, 2, now + seconds{600});
        board.observe(row);
        board.charge(row, planned.grants.at(0).demand);
        return row;
    };
    auto first = grant(1);
    EXPECT_DOUBLE_EQ(started(), 1);
    board.learn(first, {domain::MicroUsd{7'000'000}, std::nullopt, std::nullopt, false});
    EXPECT_DOUBLE_EQ(started(), 7);
    board.learn(first, {domain::MicroUsd{9'000'000}, std::nullopt, std::nullopt});
    EXPECT_DOUBLE_EQ(started(), 7) << "once";
    first.last_seq = 3;
    first.status = Status::completed;
    first.attempt.reset();
    first.timeout_at.reset();
    board.observe(first);

    const auto second = grant(2);
    EXPECT_GT(started(), 7);
    board.take_back(second.id);
    EXPECT_DOUBLE_EQ(started(), 7) << "it was not sent";

    // Another policy knows nothing of what the one before charged.
    const auto third = grant(3);
    board.set_fairness(nullptr);
    board.set_fairness(policy);
    board.learn(third, {domain::MicroUsd{5'000'000}, std::nullopt, std::nullopt});
    const auto standings = board.shares()->standings(now);
    EXPECT_TRUE(standings.empty() || standings.front().started == 0);
}

/// A callback comes while a new scheduler still reads its tables: what its execution held is free, though they say that
/// it holds it.
TEST(Board, WhatEndedWhileProvidersWereReadHoldsNothing) {
    Operations operations;
    TimePoint now = kStart;
    Board board(operations, [&] { return now; });
    board.set_catalogue(catalogue());
    resource_manager::ProviderLimit rate{"rate", resource_manager::Measure::requests, 3};
    resource_manager::ProviderLimit slots{"slots", resource_manager::Measure::concurrency, 3};
    std::vector<resource_manager::LoadedPermit> permits;
    const auto permit = [&](const Execution& row) {
        resource_manager::LoadedPermit each;
        each.lane = row.lane;
        each.need = {"gemini", 1, 0, 0, {}};
        each.execution = row.id;
        each.attempt = row.attempt->id;
        each.fence = row.attempt->fence;
        each.lease_until = kStart + seconds{10};
        permits.push_back(each);
    };
    const TimePoint deadline = kStart + seconds{600};
    const Execution runs = sending(1, 2, deadline);
    Execution ended = sending(2, 2, deadline);
    Execution answered = sending(3, 2, deadline);
    for (const auto& row : {runs, ended, answered}) permit(row);
    ended.last_seq = 3;
    ended.status = Status::completed;
    ended.timeout_at.reset();
    ended.attempt.reset();
    answered.last_seq = 3;
    answered.status = Status::running;
    answered.attempt->state = AttemptState::accepted;
    for (const auto& row : {runs, ended, answered}) board.observe(row);
    board.set_providers({{"gemini", {rate, slots}}}, permits);
    const auto used = [&](const std::string& name) {
        for (const auto& shown : board.meters().all())
            if (shown.meter->limit().name == name) return shown.meter->used(now);
        return std::int64_t{-1};
    };
    EXPECT_EQ(used("slots"), 2);
    EXPECT_EQ(used("rate"), 3) << "when its request ended nobody knows: until its lease is over it may be under way";
    now = kStart + seconds{75};
    EXPECT_EQ(used("rate"), 1) << "of the one whose request is under way";
}

TEST(Board, ADeadlineThatWasSparedStaysSoWhateverElseTheRowSays) {
    Operations operations;
    Board board(operations, [] { return domain::TimePoint{}; });
    board.set_catalogue(catalogue());
    const TimePoint passed = kStart + seconds{10};
    board.observe(sending(1, 2, passed));
    board.set_outage(Outage{kStart, kStart + seconds{60}, seconds{60}});
    EXPECT_EQ(board.next_deadline(), kStart + seconds{100});
    // The answer to its request is recorded once the database is back: a newer reading with the same deadline.
    Execution accepted = sending(1, 3, passed);
    accepted.status = Status::running;
    accepted.attempt->state = AttemptState::accepted;
    board.observe(accepted);
    EXPECT_EQ(board.next_deadline(), kStart + seconds{100});
    // One that is only read now, and one that is asked at its status URL.
    board.observe(sending(2, 2, passed + seconds{1}));
    board.put_off_deadline(waiting(2).id, kStart + seconds{500});
    board.observe(sending(2, 3, passed + seconds{1}));
    EXPECT_TRUE(board.passed_deadlines(kStart + seconds{99}, 10).empty());
    EXPECT_EQ(board.passed_deadlines(kStart + seconds{100}, 10).size(), 1U);
    // A heartbeat gives it another one.
    board.observe(sending(2, 4, kStart + seconds{90}));
    EXPECT_EQ(board.next_deadline(), kStart + seconds{90});
}

/// A lane with one endpoint and more waiting than goes.
class BoardBreaker : public ::testing::Test {
  protected:
    BoardBreaker() {
        endpoint.id.value[15] = 9;
        endpoint.url = "http://e";
        show(1);
        for (int i = 0; i < 30; ++i) board.observe(waiting(i));
    }
    void show(int version) {
        auto types = std::make_shared<subworkflows::Catalogue>(*catalogue());
        types->types[kLane].endpoints = {endpoint};
        types->types[kLane].version = version;
        board.set_catalogue(types);
    }
    void news(EndpointNews::Kind kind, TimePoint began, TimePoint at) {
        EndpointNews each;
        each.endpoint = endpoint.id;
        each.kind = kind;
        each.detail = "status 500";
        each.began = began;
        board.endpoint_news(each, at);
    }
    void breaks(TimePoint at) {
        for (int i = 0; i < 10; ++i) news(EndpointNews::Kind::trouble, at, at);
    }
    Plan planned(TimePoint at) { return plan(board.plan_input(10), at); }
    domain::BreakerState state() const { return board.breakers().at(0).state; }

    Operations operations;
    Board board{operations, [] { return domain::TimePoint{}; }};
    subworkflows::Endpoint endpoint;
    const TimePoint now = kStart + seconds{600};
};

TEST_F(BoardBreaker, AnOpenOneStopsTheLaneAndHalfOpenOneGoes) {
    breaks(now);
    auto result = planned(now);
    EXPECT_TRUE(result.grants.empty());
    ASSERT_TRUE(result.gates.at(kLane));
    EXPECT_EQ(result.gates.at(kLane)->kind, domain::GateKind::breaker);
    EXPECT_EQ(result.gates.at(kLane)->opens_at, now + seconds{30});
    EXPECT_EQ(result.next_opening, now + seconds{30});
    const auto opened = board.take_changed_endpoints(now);
    ASSERT_EQ(opened.size(), 1U);
    EXPECT_TRUE(opened[0].breaker);
    EXPECT_FALSE(opened[0].hold);
    EXPECT_EQ(opened[0].endpoint.breaker.state, domain::BreakerState::open);
    EXPECT_TRUE(board.take_changed_endpoints(now).empty());

    // Answers that were under way make no room.
    for (int i = 0; i < 5; ++i) news(EndpointNews::Kind::accepted, now, now + seconds{1});
    EXPECT_EQ(planned(now + seconds{30}).grants.size(), 1U);
    const auto half = board.take_changed_endpoints(now + seconds{30});
    ASSERT_EQ(half.size(), 1U);
    EXPECT_EQ(half[0].endpoint.breaker.state, domain::BreakerState::half_open);

    Execution probe = sending(1, 2, now + seconds{600});
    probe.attempt->endpoint = endpoint.id;
    board.observe(probe);
    result = planned(now + seconds{31});
    EXPECT_TRUE(result.grants.empty());
    EXPECT_EQ(result.gates.at(kLane)->kind, domain::GateKind::breaker);
    EXPECT_FALSE(result.gates.at(kLane)->opens_at);
    board.answered(probe.id, probe.attempt->id);
    news(EndpointNews::Kind::accepted, now + seconds{30}, now + seconds{32});
    EXPECT_GT(planned(now + seconds{32}).grants.size(), 1U);
    EXPECT_EQ(board.take_changed_endpoints(now + seconds{32}).size(), 1U);
}

TEST_F(BoardBreaker, FaultsAndOverloadHoldAndDoNotOpenIt) {
    for (int i = 0; i < 20; ++i) news(EndpointNews::Kind::fault, now, now);
    for (int i = 0; i < 20; ++i) news(EndpointNews::Kind::overload, now, now);
    EXPECT_EQ(state(), domain::BreakerState::closed);
    EXPECT_EQ(planned(now).gates.at(kLane)->kind, domain::GateKind::endpoint);
}

TEST_F(BoardBreaker, WhatWasSetByHandCountsAndWhatItWroteItselfDoesNot) {
    breaks(now);
    // The catalogue is read again: the row still says closed, as does one that it has not written yet.
    show(1);
    EXPECT_EQ(state(), domain::BreakerState::open);
    show(2);
    EXPECT_EQ(state(), domain::BreakerState::open) << "a new version alone does not say that it was reset";
    endpoint.breaker.orders = 1;
    show(2);
    EXPECT_EQ(state(), domain::BreakerState::closed);
    EXPECT_TRUE(board.take_changed_endpoints(now).empty()) << "the row says so already";
    EXPECT_EQ(planned(now).grants.size(), 1U) << "and it begins carefully";

    endpoint.breaker.state = domain::BreakerState::open;
    endpoint.breaker.orders = 2;
    endpoint.breaker.by = "ann";
    show(2);
    news(EndpointNews::Kind::accepted, now, now);
    EXPECT_TRUE(planned(now + std::chrono::hours{1000}).grants.empty());
    EXPECT_FALSE(planned(now).gates.at(kLane)->opens_at);
}

TEST(Board, AnEndpointHasRoomAgainOnceItsPeerHasTakenTheRequest) {
    Operations operations;
    Board board(operations, [] { return domain::TimePoint{}; });
    auto types = std::make_shared<subworkflows::Catalogue>(*catalogue());
    subworkflows::Endpoint endpoint;
    endpoint.id.value[15] = 9;
    endpoint.max_in_flight = 1;
    types->types[kLane].endpoints = {endpoint};
    board.set_catalogue(types);
    const auto grants = [&] { return plan(board.plan_input(10), kStart + seconds{60}).grants.size(); };

    Execution under_way = sending(1, 2, kStart + seconds{600});
    under_way.attempt->endpoint = endpoint.id;
    under_way.attempt->id.value[15] = 1;
    board.observe(under_way);
    board.observe(waiting(2));
    EXPECT_EQ(grants(), 0U) << "its one place is taken";

    domain::AttemptId another;
    board.answered(under_way.id, another);
    EXPECT_EQ(grants(), 0U) << "somebody else's answer";
    board.answered(under_way.id, under_way.attempt->id);
    board.answered(under_way.id, under_way.attempt->id);
    EXPECT_EQ(grants(), 1U);

    // The row as it is committed meanwhile still says sending; what is recorded in the end counts once.
    ++under_way.last_seq;
    board.observe(under_way);
    EXPECT_EQ(grants(), 1U);
    ++under_way.last_seq;
    under_way.status = Status::running;
    under_way.attempt->state = AttemptState::accepted;
    board.observe(under_way);
    EXPECT_EQ(grants(), 1U);

    // A repeated delivery of the same attempt is another request.
    ++under_way.last_seq;
    under_way.status = Status::dispatching;
    under_way.attempt->state = AttemptState::sending;
    ++under_way.attempt->deliveries;
    board.observe(under_way);
    EXPECT_EQ(grants(), 0U);
}

TEST(Board, WhatIsPutOffIsLeftOutUntilItIsReadAgain) {
    Operations operations;
    Board board(operations, [] { return domain::TimePoint{}; });
    board.set_catalogue(catalogue());
    const auto first = waiting(1);
    board.observe(first);
    board.observe(waiting(2));
    auto due = waiting(3);
    due.status = Status::retrying;
    due.ready = false;
    due.due_at = kStart;
    board.observe(due);
    board.observe(sending(4, 2, kStart));
    const TimePoint later = kStart + seconds{1};
    for (const int n : {1, 3, 4}) board.put_off(waiting(n).id, later);
    EXPECT_EQ(board.order(kLane)->shown(), 1U) << "who comes behind it goes first";
    EXPECT_EQ(board.put_off().size(), 3U);
    EXPECT_TRUE(board.passed_deadlines(kStart, 10).empty());
    EXPECT_TRUE(board.put_off_until(kStart).empty());
    EXPECT_EQ(board.next_put_off(), later);
    EXPECT_EQ(board.put_off_until(later).size(), 3U);
    // Read again as they were.
    board.begin_due_reading();
    board.end_due_reading(std::nullopt);
    board.observe(first);
    board.observe(due);
    board.observe(sending(4, 2, kStart));
    EXPECT_TRUE(board.put_off().empty());
    EXPECT_EQ(board.order(kLane)->shown(), 2U);
    EXPECT_EQ(board.next_due(), kStart);
    EXPECT_EQ(board.passed_deadlines(later, 10).size(), 1U);
    // A deadline that is still to come stays where it is, a spared one as well.
    board.observe(sending(4, 3, kStart + seconds{300}));
    board.put_off(waiting(4).id, later);
    EXPECT_EQ(board.next_deadline(), kStart + seconds{300});
    board.set_outage(Outage{kStart, kStart + seconds{400}, seconds{400}});
    board.put_off(waiting(4).id, kStart + seconds{401});
    EXPECT_EQ(board.next_deadline(), kStart + seconds{730});
}

TEST(Board, AnOlderReadingOfWhatHasEndedDoesNotBringItBack) {
    Operations operations;
    Board board(operations, [] { return domain::TimePoint{}; });
    board.set_catalogue(catalogue());
    const Execution row = waiting(1);
    board.observe(row);
    {
        const auto reading = operations.begin();
        Execution ended = row;
        ended.status = Status::completed;
        ended.ready = false;
        ended.last_seq = 5;
        board.observe(ended);
        board.observe(row);
        EXPECT_EQ(board.waiting(), 0U);
        // However many end while that reading is under way.
        for (int n = 2; n < 300; ++n) {
            auto other = waiting(n);
            other.status = Status::completed;
            other.ready = false;
            board.observe(other);
        }
        board.observe(row);
        EXPECT_EQ(board.waiting(), 0U);
    }
}

/// Rows as they were committed, seen in any order and any number of times: memory is what the last of each says.
TEST(Board, HoldsWhatTheNewestReadingsSayInWhateverOrderTheyCome) {
    for (unsigned seed = 1; seed <= 300; ++seed) {
        std::mt19937 random(seed);
        Operations operations;
        Board board(operations, [] { return domain::TimePoint{}; });
        board.set_catalogue(catalogue());
        const auto reading = operations.begin();
        std::vector<Execution> newest;
        std::vector<Execution> seen;
        for (int n = 1; n <= 12; ++n) {
            Execution row = waiting(n, std::string(1, static_cast<char>('a' + n % 3)));
            seen.push_back(row);
            for (unsigned i = 0; i < random() % 6; ++i) seen.push_back(row = next(row, random));
            newest.push_back(row);
        }
        for (std::size_t i = seen.size(); i > 0; i -= std::min<std::size_t>(i, 3)) seen.push_back(seen[random() % i]);
        std::shuffle(seen.begin(), seen.end(), random);
        for (const auto& row : seen) board.observe(row);

        int in_use = 0;
        std::size_t queued = 0;
        std::map<std::string, int> by_key;
        std::map<std::string, int> queued_by_key;
        std::optional<TimePoint> deadline;
        for (const auto& row : newest) {
            if (row.holds_slot()) {
                ++in_use;
                ++by_key[row.concurrency_key];
                if (!deadline || *row.timeout_at < *deadline) deadline = row.timeout_at;
            }
            if (row.claimable()) {
                ++queued;
                ++queued_by_key[row.concurrency_key];
            }
        }
        EXPECT_EQ(board.in_use(kLane), in_use) << "seed " << seed;
        EXPECT_EQ(board.live(), static_cast<std::size_t>(in_use)) << "seed " << seed;
        EXPECT_EQ(board.waiting(), queued) << "seed " << seed;
        EXPECT_EQ(board.next_deadline(), deadline) << "seed " << seed;
        for (const auto& row : newest) {
            const auto* order = board.order(kLane);
            EXPECT_EQ(order && order->contains(row.id), row.claimable()) << "seed " << seed;
            if (row.due_at && !row.ready) {
                ASSERT_TRUE(board.next_due()) << "seed " << seed;
                EXPECT_LE(*board.next_due(), *row.due_at) << "seed " << seed;
            }
        }
        // As many as their key has room for are shown; the others are noted as stopped by it.
        std::map<std::string, int> noted;
        for (const auto& note : board.gate_notes(100))
            if (note.gate) ++noted[note.gate->subject];
        for (const auto& [key, waits] : queued_by_key)
            EXPECT_EQ(noted[key], std::max(0, waits - std::max(0, 2 - by_key[key]))) << "seed " << seed << " " << key;
    }
}

/// A lane that calls a provider which limits each customer.
struct Customers {
    static constexpr int kMost = 100;
    Operations operations;
    TimePoint now = kStart + seconds{20000};
    Board board{operations, [this] { return now; }};
    int made = 0;

    explicit Customers(std::int64_t limit, std::int64_t guaranteed, std::int64_t ceiling) {
        auto all = std::make_shared<subworkflows::Catalogue>();
        for (const auto* name : {"keyed", "other"}) {
            subworkflows::WorkflowType type;
            type.lane = {"default", name};
            type.max_wait = std::chrono::hours{100};
            type.needs = {{"gemini", 1}};
            subworkflows::Endpoint endpoint;
            endpoint.id.value[0] = static_cast<std::uint8_t>(name[0]);
            endpoint.max_in_flight = 1000;
            type.endpoints = {endpoint};
            all->types[type.lane] = type;
        }
        board.set_catalogue(all);
        resource_manager::ProviderLimit rpm{"rpm", resource_manager::Measure::requests, limit};
        rpm.key = "/customer";
        rpm.guaranteed = guaranteed;
        rpm.ceiling = ceiling;
        board.set_providers({{"gemini", {rpm}}}, {});
    }
    domain::ExecutionId wait(const std::string& customer, const std::string& type = "keyed") {
        Execution row = waiting(++made);
        row.lane.workflow_type = type;
        row.limit_keys = "/customer\t" + customer;
        board.observe(row);
        return row.id;
    }
    /// As the hub does, until nothing more goes: an endpoint takes a few at a time. What is granted ends at once.
    std::vector<domain::ExecutionId> turns() {
        std::vector<domain::ExecutionId> ids;
        for (bool any = true; any;) {
            auto planned = plan(board.plan_input(kMost), now);
            any = !planned.grants.empty();
            board.behind_keys(planned);
            for (const auto& grant : planned.grants) {
                ids.push_back(grant.execution);
                Execution row;
                row.id = grant.execution;
                row.lane = grant.lane;
                row.limit_keys = grant.demand.limit_keys;
                row.last_seq = 2;
                row.status = Status::completed;
                row.attempt = domain::LiveAttempt{};
                board.charge(row, grant.demand);
                row.attempt.reset();
                board.observe(row);
            }
            next_opening = planned.next_opening;
        }
        return ids;
    }
    std::size_t shown() const { return board.order(kLane)->shown(); }
    std::optional<TimePoint> next_opening;
};

TEST(BoardKeys, BehindAClosedKeyNothingIsLookedAt) {
    Customers customers(1000, 0, 3);
    std::vector<domain::ExecutionId> flood;
    for (int i = 0; i < 5000; ++i) flood.push_back(customers.wait("flood"));
    EXPECT_EQ(customers.turns(), std::vector(flood.begin(), flood.begin() + 3));
    EXPECT_TRUE(customers.turns().empty());
    EXPECT_EQ(customers.shown(), 0U) << "however many wait";
    ASSERT_TRUE(customers.next_opening);
    EXPECT_LE(*customers.next_opening, customers.now + seconds{1}) << "then it is written down";
    const auto other = customers.wait("other");
    EXPECT_EQ(customers.turns(), std::vector{other}) << "nor is the lane closed";
    EXPECT_TRUE(customers.board.gate_notes(10000).empty()) << "not what closes for a moment";

    customers.now += seconds{2};
    EXPECT_TRUE(customers.turns().empty());
    const auto notes = customers.board.gate_notes(10000);
    ASSERT_EQ(notes.size(), 4997U);
    ASSERT_TRUE(notes.front().gate);
    EXPECT_EQ(notes.front().gate->kind, domain::GateKind::key_limit);
    EXPECT_EQ(customers.next_opening, notes.front().gate->opens_at);

    customers.now = *customers.next_opening;
    EXPECT_EQ(customers.turns(), std::vector(flood.begin() + 3, flood.begin() + 6));
}

// What sleeps behind its key is asked about again when it may go, and not before.
TEST(BoardKeys, WhatWaitsBehindManyKeysCostsATurnNothing) {
    Customers customers(100000, 0, 1);
    for (int i = 0; i < 3000; ++i) {
        customers.wait(std::to_string(i));
        customers.wait(std::to_string(i));
    }
    EXPECT_EQ(customers.turns().size(), 3000U);
    customers.now += seconds{2};
    EXPECT_TRUE(customers.turns().empty());
    const auto turn = [&] {
        const auto begun = std::chrono::steady_clock::now();
        EXPECT_TRUE(customers.turns().empty());
        return std::chrono::steady_clock::now() - begun;
    };
    auto best = turn();
    for (int i = 0; i < 20; ++i) best = std::min(best, turn());
    EXPECT_LT(best, std::chrono::milliseconds{3});
    ASSERT_TRUE(customers.next_opening);
    customers.now = *customers.next_opening;
    EXPECT_EQ(customers.turns().size(), 3000U);
}

TEST(BoardKeys, WhatEndsEarlierOpensItsKeyInEveryLane) {
    Customers customers(100000, 0, 1);
    const auto running = customers.wait("a");
    const auto planned = plan(customers.board.plan_input(1), customers.now);
    ASSERT_EQ(planned.grants.size(), 1U);
    Execution row;
    row.id = running;
    row.lane = planned.grants[0].lane;
    row.limit_keys = planned.grants[0].demand.limit_keys;
    row.last_seq = 2;
    row.status = Status::dispatching;
    row.attempt = domain::LiveAttempt{};
    row.attempt->state = domain::AttemptState::sending;
    row.timeout_at = customers.now + seconds{1000};
    customers.board.observe(row);
    customers.board.charge(row, planned.grants[0].demand);
    customers.wait("a");
    customers.wait("a", "other");
    EXPECT_TRUE(customers.turns().empty());
    customers.now += seconds{2};
    EXPECT_TRUE(customers.turns().empty());
    ASSERT_TRUE(customers.next_opening);
    EXPECT_GT(*customers.next_opening, customers.now + std::chrono::hours{90})
        << "that depends on the request under way";
    customers.now += seconds{10};
    EXPECT_TRUE(customers.turns().empty());
    // It was not sent: its key is as if nothing had been.
    customers.board.take_back(running);
    row.attempt.reset();
    row.timeout_at.reset();
    row.last_seq = 3;
    row.status = Status::cancelled;
    customers.board.observe(row);
    EXPECT_EQ(customers.turns().size(), 1U);
}

TEST(BoardKeys, WhatIsGuaranteedIsKeptForWhoWaitsInAnyLane) {
    Customers customers(10, 4, 10);
    for (int i = 0; i < 50; ++i) customers.wait("flood");
    for (int i = 0; i < 6; ++i) customers.wait("small", "other");
    const auto count = [&](const std::vector<domain::ExecutionId>& ids, int from, int to) {
        return std::count_if(ids.begin(), ids.end(), [&](const domain::ExecutionId& id) {
            const int n = id.value[14] * 256 + id.value[15];
            return n >= from && n <= to;
        });
    };
    const auto granted = customers.turns();
    EXPECT_EQ(count(granted, 1, 50), 6);
    EXPECT_EQ(count(granted, 51, 56), 4);
    customers.now += seconds{120};
    EXPECT_EQ(count(customers.turns(), 51, 56), 2);
    customers.turns();
    customers.now += seconds{120};
    EXPECT_EQ(customers.turns().size(), 10U) << "nothing is kept for who has nothing waiting";

    // Nor for who waits for something else.
    for (int i = 0; i < 6; ++i) customers.wait("small", "other");
    auto all = std::make_shared<subworkflows::Catalogue>(*customers.board.catalogue());
    all->types.at({"default", "other"}).enabled = false;
    customers.board.set_catalogue(all);
    customers.now += seconds{120};
    EXPECT_EQ(customers.turns().size(), 10U);
}

// A key that was closed opens with the limits that are set anew, and what was enqueued before there was a key counts
// for those without one.
TEST(BoardKeys, FollowTheDefinitions) {
    Customers customers(10, 0, 1);
    customers.wait("a");
    const auto second = customers.wait("a");
    EXPECT_EQ(customers.turns().size(), 1U);
    EXPECT_TRUE(customers.turns().empty());
    resource_manager::ProviderLimit rpm{"rpm", resource_manager::Measure::requests, 10};
    customers.board.set_providers({{"gemini", {rpm}}}, {});
    EXPECT_EQ(customers.turns(), std::vector{second}) << "no limit has a key any more";
    customers.wait("a");
    customers.wait("b");
    rpm.key = "/domain";
    rpm.ceiling = 1;
    customers.board.set_providers({{"gemini", {rpm}}}, {});
    EXPECT_EQ(customers.turns().size(), 1U);
    EXPECT_TRUE(customers.turns().empty()) << "neither says a domain: they share an account";
}

}
}
