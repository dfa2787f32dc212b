// What one key may have of a limit: by hand, and at random against the four promises (the limit, the ceiling, the
// guarantee, nothing kept idle).
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>

#include "domain/limit_keys.h"
#include "resource_manager/admission.h"
#include "resource_manager/provider_meters.h"

namespace impresario::resource_manager {
namespace key_limit_test {

using domain::Demand;
using domain::Duration;
using domain::TimePoint;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

const TimePoint kNow{hours{500000}};
const domain::Lane kLane{"default", "a"};

ProviderLimit keyed(std::int64_t most, std::int64_t guaranteed, std::int64_t ceiling,
                    WindowKind kind = WindowKind::sliding_window) {
    ProviderLimit made;
    made.name = "rpm";
    made.kind = kind;
    made.limit = made.burst = most;
    made.key = "/input_data/customer";
    made.guaranteed = guaranteed;
    made.ceiling = ceiling;
    return made;
}

Demand of(const std::string& customer, std::int64_t calls = 1, bool starving = false, domain::Lane lane = kLane) {
    Demand demand{std::move(lane), ""};
    demand.limit_keys = domain::limit_keys_text({{"/customer", customer}});
    demand.needs = {{"gemini", calls}};
    demand.starving = starving;
    return demand;
}

/// The meters of one limit, and turns that are asked of them.
struct Counted {
    explicit Counted(const ProviderLimit& of_it) : total(of_it), keys(of_it), limit(of_it) {}

    void turn() {
        admission = {};
        named = {admission.add(KeyShare{"gemini", &total, &keys, "/customer"}),
                 admission.add(ProviderRate{"gemini", &total})};
    }
    /// The gate, or nullopt where it may go; what may is charged as if it were under way.
    std::optional<domain::Gate> ask(const Demand& demand, TimePoint now = kNow) {
        auto verdict = admission.admit(demand, named, now);
        if (auto* deferred = std::get_if<Deferred>(&verdict)) return deferred->gate;
        going.push_back({domain::limit_key(demand.limit_keys, "/customer"), limit.amount(demand.needs.front())});
        return std::nullopt;
    }
    /// What was granted in this turn is under way.
    void charge() {
        for (const auto& [key, amount] : going) {
            total.charge(amount);
            keys.charge(key, amount);
        }
        going.clear();
    }

    Meter total;
    KeyMeters keys;
    ProviderLimit limit;
    Admission admission;
    std::vector<std::size_t> named;
    std::vector<std::pair<std::string, std::int64_t>> going;
};

TEST(KeyLimit, AKeyHasNoMoreThanItsCeilingAndTheOthersGoOn) {
    Counted counted(keyed(10, 0, 3));
    counted.turn();
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(counted.ask(of("acme")));
    const auto gate = counted.ask(of("acme"));
    ASSERT_TRUE(gate);
    EXPECT_EQ(gate->kind, domain::GateKind::key_limit);
    EXPECT_EQ(gate->subject, "gemini rpm acme");
    EXPECT_EQ(gate->detail,
              "/input_data/customer = acme: 3 of 3 requests per minute are used and 1 more asked; fits when requests "
              "under way have ended");
    EXPECT_FALSE(counted.admission.closed(of("acme"), counted.named, kNow)) << "the lane is not closed by a key";
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(counted.ask(of("other")));
    EXPECT_FALSE(counted.ask(of(""))) << "those without one share an account";
    counted.charge();
    counted.keys.end("acme", 3, kNow);
    counted.turn();
    const auto known = counted.ask(of("acme"));
    ASSERT_TRUE(known && known->opens_at);
    EXPECT_GT(*known->opens_at, kNow + minutes{1});
    counted.turn();
    EXPECT_FALSE(counted.ask(of("acme"), *known->opens_at));
}

TEST(KeyLimit, WhatIsGuaranteedIsLeftForThoseWhoWait) {
    Counted counted(keyed(10, 3, 10));
    counted.keys.waits("flood", 1, 1);
    counted.keys.waits("small", 1, 1);
    counted.turn();
    int flood = 0;
    while (!counted.ask(of("flood"))) ++flood;
    EXPECT_EQ(flood, 7);
    const auto gate = counted.ask(of("flood"));
    ASSERT_TRUE(gate);
    EXPECT_EQ(gate->numbers.back(), (std::pair<std::string, std::string>{"kept", "3"}));
    EXPECT_NE(gate->detail.find("kept for others who wait for theirs"), std::string::npos) << gate->detail;
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(counted.ask(of("small"))) << i;
    EXPECT_TRUE(counted.ask(of("small")));
    counted.charge();
    counted.turn();
    const auto full = counted.ask(of("small"));
    ASSERT_TRUE(full);
    EXPECT_EQ(full->kind, domain::GateKind::provider) << "nothing is kept any more: the limit is full";
}

TEST(KeyLimit, NothingIsKeptForThoseWithNothingWaiting) {
    Counted counted(keyed(10, 3, 10));
    counted.keys.waits("flood", 1, 1);
    counted.turn();
    int flood = 0;
    while (!counted.ask(of("flood"))) ++flood;
    EXPECT_EQ(flood, 10);
}

// Guarantees of 4 × 3 of a limit of 10: nobody goes beyond his own, and within that the order decides.
TEST(KeyLimit, MoreGuaranteedThanThereIsGoesInOrder) {
    Counted counted(keyed(10, 3, 10));
    for (const auto* key : {"a", "b", "c", "d"}) counted.keys.waits(key, 1, 1);
    counted.turn();
    std::map<std::string, int> had;
    for (int i = 0; i < 5; ++i)
        for (const auto* key : {"a", "b", "c", "d"})
            if (!counted.ask(of(key))) ++had[key];
    EXPECT_EQ(had, (std::map<std::string, int>{{"a", 3}, {"b", 3}, {"c", 2}, {"d", 2}}));
}

// Each asks more than is guaranteed to it, and the guarantees together are all there is.
TEST(KeyLimit, WhoAsksMoreThanItsGuaranteeKeepsNothingFromOthers) {
    Counted counted(keyed(10, 2, 10));
    for (const auto* key : {"a", "b", "c", "d", "e"}) counted.keys.waits(key, 3, 1);
    counted.turn();
    int went = 0;
    for (const auto* key : {"a", "b", "c", "d", "e"}) went += counted.ask(of(key, 3)) ? 0 : 1;
    EXPECT_EQ(went, 3);
}

TEST(KeyLimit, TheFirstOfAKeyHoldsItsKeyAndNobodyElse) {
    Counted counted(keyed(10, 0, 5));
    counted.turn();
    EXPECT_FALSE(counted.ask(of("acme", 3)));
    EXPECT_TRUE(counted.ask(of("acme", 3)));
    const auto behind = counted.ask(of("acme", 1));
    ASSERT_TRUE(behind) << "small ones would drain what the first waits for";
    EXPECT_NE(behind->detail.find("go first"), std::string::npos);
    EXPECT_FALSE(counted.ask(of("acme", 1, false, {"default", "b"}))) << "other lanes go on";
    counted.charge();
    counted.turn();
    EXPECT_TRUE(counted.ask(of("acme", 3, true)));
    EXPECT_TRUE(counted.ask(of("acme", 1, false, {"default", "b"}))) << "until it has waited beyond its max_wait";
    EXPECT_FALSE(counted.ask(of("other", 1, false, {"default", "b"})));
    counted.turn();
    EXPECT_TRUE(counted.ask(of("acme", 6, true)));
    EXPECT_FALSE(counted.ask(of("acme", 1, false, {"default", "b"}))) << "nothing is kept for what never fits";
}

TEST(KeyLimit, MoreThanACeilingIsNeverGiven) {
    const Provider provider{"gemini", {keyed(10, 0, 3)}};
    EXPECT_EQ(never_fits({provider}, {{"gemini", 4}}),
              "asks 4 of 3 requests per minute for each /input_data/customer, more than it ever gives (rpm of gemini); "
              "ask for less at a time, or raise the limit");
    EXPECT_FALSE(never_fits({provider}, {{"gemini", 3}}));
}

TEST(KeyLimit, IdleKeysAreForgotten) {
    KeyMeters keys(keyed(1'000'000, 1, 10));
    for (int i = 0; i < 20'000; ++i) {
        keys.charge(std::to_string(i), 1);
        keys.end(std::to_string(i), 1, kNow);
    }
    EXPECT_EQ(keys.size(), 20'000U);
    EXPECT_EQ(keys.heaviest(3, kNow).size(), 3U);
    // Some at a time: no turn is long.
    for (int i = 0; i < 25; ++i) keys.trim(kNow + minutes{2});
    EXPECT_EQ(keys.size(), 0U);
    keys.waits("a", 1, 1);
    keys.waits("a", 2, 1);
    keys.waits("a", 1, -1);
    EXPECT_EQ(keys.waiting(), 1U);
    keys.waits("a", 2, -1);
    EXPECT_EQ(keys.waiting(), 0U);
}

/// What a new scheduler finds in the tables.
TEST(KeyLimit, APermitCountsForItsKeyWhoeverLoadsIt) {
    Provider provider{"gemini", {keyed(10, 2, 4)}};
    provider.limits.push_back(keyed(6, 0, 1));
    provider.limits.back().name = "at_once";
    provider.limits.back().of = Measure::concurrency;
    LoadedPermit closed;
    closed.lane = kLane;
    closed.need = {"gemini", 3};
    closed.ended_at = kNow;
    closed.limit_keys = "/customer\tacme";
    LoadedPermit live = closed;
    live.execution = domain::ExecutionId{};
    live.need = {"gemini", 1};
    live.ended_at.reset();
    ProviderMeters meters;
    meters.load({provider}, {closed, live}, kNow);
    const auto applied = meters.applied(kLane, {{"gemini", 1}});
    ASSERT_EQ(applied.size(), 2U);
    EXPECT_EQ(applied[0].keys->used("acme", kNow), 4);
    EXPECT_EQ(applied[0].keys->used("other", kNow), 0);
    EXPECT_EQ(applied[1].keys->used("acme", kNow), 1);
    meters.released(*live.execution, kNow);
    EXPECT_EQ(applied[1].keys->used("acme", kNow), 0);
    EXPECT_EQ(applied[0].keys->used("acme", kNow), 4);
    meters.charge(*live.execution, kLane, {{"gemini", 1}}, "/customer\tother", kNow);
    EXPECT_EQ(applied[0].keys->used("other", kNow), 1);
    meters.given_back(*live.execution);
    EXPECT_EQ(applied[0].keys->used("other", kNow), 0);
    EXPECT_EQ(applied[1].keys->used("other", kNow), 0);
}

struct Start {
    TimePoint at;
    std::string key;
    std::int64_t amount;
};

/// The most that began together in any window.
std::int64_t most_together(const std::vector<Start>& starts, const ProviderLimit& limit, WindowKind kind,
                           const std::string* key) {
    std::int64_t most = 0;
    std::size_t from = 0;
    std::int64_t sum = 0;
    std::vector<const Start*> some;
    for (const auto& each : starts)
        if (!key || each.key == *key) some.push_back(&each);
    for (std::size_t i = 0; i < some.size(); ++i) {
        sum += some[i]->amount;
        const auto together = [&](const Start& a, const Start& b) {
            if (kind == WindowKind::fixed_window)
                return a.at.time_since_epoch() / limit.per == b.at.time_since_epoch() / limit.per;
            return b.at - a.at < limit.per;
        };
        while (!together(*some[from], *some[i])) sum -= some[from++]->amount;
        most = std::max(most, sum);
    }
    return most;
}

TEST(KeyLimit, AtRandomTheFourPromisesHold) {
    for (unsigned seed = 1; seed <= 60; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        std::mt19937 dice(seed);
        const auto between = [&](int a, int b) {
            return a + static_cast<int>(dice() % static_cast<unsigned>(b - a + 1));
        };
        const bool concurrency = seed % 4 == 0;
        const auto kind = std::array{WindowKind::sliding_window, WindowKind::fixed_window,
                                     WindowKind::token_bucket}[static_cast<std::size_t>(seed) % 3];
        const bool ones = concurrency || dice() % 2 == 0;
        const int keys = between(2, 6);
        const int most = between(10, 24);
        // Together no more than there is: so much is promised.
        const int guaranteed = between(0, most / keys);
        auto limit = keyed(most, guaranteed, between(std::max(3, guaranteed), most), kind);
        limit.per = seconds{10};
        limit.burst = between(std::max(3, most / 2), most);
        if (concurrency) limit.of = Measure::concurrency;
        Counted counted(limit);

        std::map<std::string, std::deque<std::int64_t>> waiting;
        std::map<std::string, std::int64_t> known;
        std::map<std::string, TimePoint> lacking_since;
        std::vector<Start> starts;
        std::vector<Start> under_way;
        std::map<std::string, std::int64_t> running;
        for (TimePoint now = kNow; now < kNow + minutes{3}; now += milliseconds{50}) {
            std::erase_if(under_way, [&](const Start& each) {
                if (each.at > now) return false;
                if (concurrency) {
                    counted.total.give_back(1);
                    counted.keys.give_back(each.key, 1);
                    --running[each.key];
                } else {
                    counted.total.end(each.amount, each.at);
                    counted.keys.end(each.key, each.amount, each.at);
                }
                return true;
            });
            for (int i = 0; i < keys; ++i) {
                // The first floods; the others come in bursts.
                const std::string key = "k" + std::to_string(i);
                const int more = i == 0 ? (waiting[key].size() < 50 ? 5 : 0) : dice() % 100 == 0 ? between(1, 8) : 0;
                for (int n = 0; n < more; ++n) {
                    waiting[key].push_back(ones ? 1 : between(1, 3));
                }
            }
            // A turn, and the next where it may have left room.
            for (bool more = true; more;) {
                for (const auto& [key, queue] : waiting) {
                    auto& asks = known[key];
                    const auto now_asks = queue.empty() ? 0 : queue.front();
                    if (asks > 0) counted.keys.waits(key, asks, -1);
                    if (now_asks > 0) counted.keys.waits(key, now_asks, 1);
                    asks = now_asks;
                }
                counted.turn();
                std::size_t granted = 0;
                std::set<std::string> closed;
                bool full = false;
                for (bool any = true; any && !full;) {
                    any = false;
                    for (auto& [key, queue] : waiting) {
                        if (queue.empty() || closed.contains(key) || full) continue;
                        const auto amount = queue.front();
                        const auto gate = counted.ask(of(key, amount), now);
                        if (gate) {
                            closed.insert(key);
                            full = gate->kind == domain::GateKind::provider;
                            continue;
                        }
                        any = true;
                        ++granted;
                        queue.pop_front();
                        starts.push_back({now, key, amount});
                        ++running[key];
                        under_way.push_back(
                            {now + milliseconds{concurrency ? between(200, 3000) : between(0, 100)}, key, amount});
                    }
                }
                counted.charge();
                more = granted > 0 && counted.admission.left_room();
            }
            counted.total.trim(now);
            counted.keys.trim(now);
            const auto free = limit.capacity() - counted.total.used(now);
            ASSERT_GE(free, 0);
            for (const auto& [key, queue] : waiting) {
                const auto used = counted.keys.used(key, now);
                ASSERT_LE(used, limit.ceiling);
                if (queue.empty() || used >= limit.guaranteed) lacking_since.erase(key);
                if (queue.empty()) continue;
                // Nothing is idle that anybody may have.
                if (ones && used < limit.ceiling) ASSERT_EQ(free, 0) << key;
                // Who lacks what is guaranteed to him has it once what others had before has come back.
                if (used >= limit.guaranteed || !ones || kind == WindowKind::token_bucket) continue;
                const auto since = lacking_since.try_emplace(key, now).first->second;
                const Duration window =
                    concurrency ? Duration{seconds{3}} : limit.per + limit.per / 128 + milliseconds{100};
                ASSERT_LE(now - since, window) << key;
            }
        }
        if (concurrency) continue;
        EXPECT_GT(starts.size(), 50U);
        if (kind != WindowKind::token_bucket) EXPECT_LE(most_together(starts, limit, kind, nullptr), limit.limit);
        for (const auto& [key, queue] : waiting) EXPECT_LE(most_together(starts, limit, kind, &key), limit.ceiling);
    }
}

}
}
