// What check_resource_availability says, against what the hub itself would let through.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <tuple>

#include "platform/database.h"
#include "resource_manager/budget_window.h"
#include "resource_manager/limiter.h"
#include "resource_manager/provider_meters.h"
#include "resource_manager/provider_store.h"
#include "resource_manager/weather_store.h"
#include "tests/support/database.h"

namespace impresario::resource_manager {
namespace availability_test {

using domain::TimePoint;
using platform::Tx;

class Availability : public ::testing::Test {
  protected:
    testing::TestDatabase db_;

    void provider(const std::string& limits) {
        db_.run("insert into providers (name, limits) values ('test', '" + limits +
                "') on conflict (name) do update set limits = excluded.limits");
    }
    /// A type that calls it.
    void type(const std::string& name, const std::string& organization = "default") {
        db_.run("insert into workflow_types (organization_id, name, call_estimates) values ('" + organization + "', '" +
                name + R"(', '[{"provider": "test", "calls": 1}]'))");
    }
    void organization(const std::string& name) {
        db_.run("insert into organizations (organization_id, name) values ('" + name + "', '" + name + "')");
    }
    struct Start {
        /// Of that long ago; its request ended so long ago, "": it is under way.
        std::string granted;
        std::string ended;
        int calls = 1;
        std::string type = "calls";
        std::string organization = "default";
        std::int64_t cost = 0;
    };
    static std::string made(const Start& start) {
        const auto granted = "now() - interval '" + start.granted + "'";
        const auto permit =
            "with id as materialized (select gen_random_uuid() as id), permit as (insert into permits (attempt_id, "
            "fence, execution_id, organization_id, workflow_type, delivery, providers, calls, tokens, items, "
            "cost_microusd, granted_at, lease_until) select id, 1, id, '" +
            start.organization + "', '" + start.type + "', 1, '{other,test}', '{9," + std::to_string(start.calls) +
            "}', '{9,0}', '{9,0}', '{9," + std::to_string(start.cost) + "}', " + granted + ", " + granted +
            " + interval '30 seconds' from id) ";
        if (start.ended.empty())
            return permit +
                   "insert into executions (execution_id, organization_id, workflow_type, status, attempt_id, "
                   "attempt_state, fence, timeout_at) select id, '" +
                   start.organization + "', '" + start.type +
                   "', 'dispatching', id, 'sending', 1, now() + interval '1 hour' from id";
        return permit +
               "insert into deliveries (execution_id, attempt_id, number, at, duration_us, url, outcome) select id, "
               "id, 1, " +
               granted + ", extract(epoch from (now() - interval '" + start.ended + "') - (" + granted +
               ")) * 1000000, 'http://x', 'accepted' from id";
    }
    void start(const std::string& granted, const std::string& ended, int calls = 1, const std::string& type = "calls",
               const std::string& organization = "default", std::int64_t cost = 0) {
        db_.run(made({granted, ended, calls, type, organization, cost}));
    }
    /// "available usage/limit" and the whole seconds until the reset.
    std::string said(const std::string& resource) {
        return db_.value(
            "select available::text || coalesce(' ' || current_usage, '') || coalesce('/' || limit_value, '') || "
            "coalesce(' ' || round(extract(epoch from reset_time - now())), '') from check_resource_availability() "
            "where resource_type = '" +
            resource + "'");
    }
};

TEST_F(Availability, LimitsOfAnOrganizationAndOfATypeAreThoseThatItMeets) {
    provider(R"([{"name": "ours", "of": "requests", "limit": 3, "per": "hour", "scope": "organization"},
                 {"name": "each", "of": "requests", "limit": 2, "per": "hour", "scope": "workflow_type"},
                 {"name": "all", "of": "requests", "limit": 10, "per": "hour", "key": "/customer", "per_key": {"ceiling": 1}},
                 {"name": "at_once", "of": "concurrency", "limit": 1, "scope": "workflow_type"}])");
    type("calls");
    type("calls_too");
    organization("acme");
    type("theirs", "acme");
    start("10 minutes", "9 minutes");
    start("10 minutes", "9 minutes");
    start("10 minutes", "", 1, "calls_too");
    for (int i = 0; i < 5; ++i) start("10 minutes", "9 minutes", 1, "theirs", "acme");
    EXPECT_TRUE(said("provider:test:ours").starts_with("false 3/3")) << said("provider:test:ours");
    EXPECT_TRUE(said("provider:test:each:calls").starts_with("false 2/2 30")) << said("provider:test:each:calls");
    EXPECT_EQ(said("provider:test:each:calls_too"), "true 1/2");
    EXPECT_EQ(said("provider:test:each:theirs"), "") << "another organization's";
    EXPECT_EQ(said("provider:test:each"), "");
    EXPECT_EQ(said("provider:test:all"), "true 8/10") << "all keys of everybody together";
    EXPECT_EQ(said("provider:test:at_once:calls"), "true 0/1");
    EXPECT_EQ(said("provider:test:at_once:calls_too"), "false 1/1") << "it opens with an end, nobody knows when";
    EXPECT_EQ(db_.value("select count(*) from provider_availability() where resource_type like 'provider:test:%'"), "1")
        << "what others ask about is what everybody shares";
}

TEST_F(Availability, ATokenBucketGivesItsBurstAndIsRefilled) {
    provider(R"([{"name": "rate", "of": "requests", "limit": 60, "per": "hour", "kind": "token_bucket", "burst": 5}])");
    EXPECT_EQ(said("provider:test:rate"), "true 0/5");
    start("90 seconds", "90 seconds", 5);
    EXPECT_EQ(said("provider:test:rate"), "true 4/5") << "one comes back in a minute";
    start("1 second", "", 2);
    EXPECT_EQ(said("provider:test:rate"), "false 6/5 90") << "three and a half, and two under way: no more than four";
    provider(R"([{"name": "rate", "of": "requests", "limit": 1, "per": "minute", "kind": "token_bucket"}])");
    db_.run("delete from permits; delete from executions");
    start("2 minutes", "90 seconds", 2);
    EXPECT_EQ(said("provider:test:rate"), "false 1/1 30") << "limit is what it gives where no burst is named";
}

TEST_F(Availability, AStartCountsFromItsGrantUntilTheWindowAfterItsRequest) {
    provider(R"([{"name": "rate", "of": "requests", "limit": 1, "per": "minute"},
                 {"name": "money", "of": "cost", "limit": "2.5", "per": "day", "kind": "fixed_window"}])");
    start("110 seconds", "40 seconds");
    EXPECT_TRUE(said("provider:test:rate").starts_with("false 1/1 20")) << said("provider:test:rate");
    db_.run("delete from permits");
    start("110 seconds", "61 seconds");
    EXPECT_EQ(said("provider:test:rate"), "true 0/1");
    start("23 hours", "", 1, "calls", "default", 2'499'999);
    EXPECT_EQ(said("provider:test:rate"), "false 1/1") << "it is under way; nobody knows until when";
    EXPECT_EQ(said("provider:test:money"), "true 2/2") << "in whole dollars";
    start("0 seconds", "0 seconds", 1, "calls", "default", 1);
    EXPECT_TRUE(said("provider:test:money").starts_with("false 2/2")) << said("provider:test:money");
}

TEST_F(Availability, WhatIsNotKnownToHaveArrivedCountsUntilItsLeaseIsOver) {
    provider(R"([{"name": "rate", "of": "requests", "limit": 1, "per": "second"}])");
    start("10 seconds", "10 seconds");
    EXPECT_EQ(said("provider:test:rate"), "true 0/1");
    db_.run("delete from deliveries");
    EXPECT_EQ(said("provider:test:rate"), "false 1/1 21");
    db_.run(
        "insert into attempts (execution_id, number, attempt_id, opening, deliveries, closed_at, outcome) select "
        "execution_id, 1, attempt_id, 1, 1, now() - interval '5 seconds', 'completed' from permits");
    EXPECT_EQ(said("provider:test:rate"), "true 0/1") << "its own word says that it was there";
}

TEST_F(Availability, WhatCallbacksReportBeyondTheirGrantsCountsFromThenOn) {
    provider(R"([{"name": "rate", "of": "requests", "limit": 5, "per": "minute"},
                 {"name": "money", "of": "cost", "limit": "10", "per": "hour"},
                 {"name": "ours", "of": "tokens", "limit": 100, "per": "hour", "scope": "organization"}])");
    const auto report = [&](const std::string& organization, const std::string& ago, const std::string& amounts) {
        db_.run(
            "insert into usage_charges (execution_id, attempt_id, beyond, provider, organization_id, workflow_type, "
            "at, "
            "calls, tokens, cost_microusd, over_calls, over_tokens, over_cost_microusd) values (gen_random_uuid(), "
            "gen_random_uuid(), false, 'test', '" +
            organization + "', 'calls', now() - interval '" + ago + "', " + amounts + ")");
    };
    report("default", "10 seconds", "4, 90, 7000000, 2, 60, 3000000");
    EXPECT_EQ(said("provider:test:rate"), "true 2/5");
    EXPECT_EQ(said("provider:test:money"), "true 3/10");
    EXPECT_EQ(said("provider:test:ours"), "true 60/100");
    report("default", "20 seconds", "3, 40, 7000000, null, null, null");
    EXPECT_TRUE(said("provider:test:rate").starts_with("false 5/5 4")) << said("provider:test:rate");
    EXPECT_TRUE(said("provider:test:money").starts_with("false 10/10")) << said("provider:test:money");
    EXPECT_TRUE(said("provider:test:ours").starts_with("false 100/100")) << said("provider:test:ours");
    db_.run("delete from usage_charges");
    report("default", "70 seconds", "5, 0, 0, 5, 0, 0");
    report("acme", "10 seconds", "0, 100, 0, 0, 100, 0");
    EXPECT_EQ(said("provider:test:rate"), "true 0/5");
    EXPECT_EQ(said("provider:test:ours"), "true 0/100");
}

TEST_F(Availability, AProviderIsNotAvailableWhileItsWeatherStopsWhoCallsIt) {
    provider(R"([{"name": "rate", "of": "requests", "limit": 1000, "per": "minute"}])");
    const auto weather = [&](const std::string& what) {
        db_.run(
            "delete from provider_weather; insert into provider_weather (provider) values ('test'); "
            "update provider_weather set " +
            what);
    };
    EXPECT_EQ(said("weather:test"), "") << "fair";
    weather("cooling_until = now() + interval '50 seconds', learnt = 100, refused_at = now()");
    EXPECT_TRUE(said("weather:test").starts_with("false 0/100 50")) << said("weather:test");
    EXPECT_TRUE(said("provider:test:rate").starts_with("false 0/1000 50")) << said("provider:test:rate");

    // One tries it: the others wait for its answer.
    weather("cooling_until = now() - interval '1 second', learnt = 100, refused_at = now()");
    EXPECT_EQ(said("weather:test"), "true 0/100");
    start("100 milliseconds", "");
    EXPECT_EQ(said("weather:test"), "false 1/100");
    EXPECT_EQ(said("provider:test:rate"), "true 1/1000");
    db_.run("delete from permits");

    // What it says is left, and what has gone since.
    weather(
        "quota_of = 'requests', quota_left = 2, quota_said = now() - interval '10 seconds', quota_until = now() + "
        "interval '1 hour'");
    start("20 seconds", "15 seconds");
    start("5 seconds", "4 seconds");
    EXPECT_EQ(said("weather:test"), "true 1/2");
    start("5 seconds", "4 seconds");
    EXPECT_TRUE(said("weather:test").starts_with("false 2/2 3600")) << said("weather:test");
    EXPECT_TRUE(said("provider:test:rate").starts_with("false 3/1000 3600")) << said("provider:test:rate");
    db_.run("delete from permits");

    // What goes well since, and that evenly spread: of four in a minute three at once, and then one in 14.7 s.
    weather("learnt = 4, refused_at = now()");
    start("3 seconds", "2 seconds");
    start("3 seconds", "2 seconds");
    EXPECT_EQ(said("weather:test"), "true 2/4");
    start("1 second", "0 seconds");
    EXPECT_EQ(said("weather:test"), "false 3/4 12");
    start("3 seconds", "2 seconds");
    EXPECT_TRUE(said("weather:test").starts_with("false 4/4 58")) << said("weather:test");
    db_.run("delete from providers where name = 'test'");
    EXPECT_EQ(said("weather:test"), "") << "one that is not registered learns nothing";
}

// Starts, reports and limits of every kind at random: as a scheduler counts them that begins now.
TEST_F(Availability, ItIsNeverMoreGenerousThanTheHub) {
    std::mt19937 random(20261201);  // NOLINT(cert-msc51-cpp): the same each time.
    const auto pick = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(random); };
    type("calls");
    organization("acme");
    type("calls", "acme");
    int equal = 0;
    int all = 0;
    for (int round = 0; round < 12; ++round) {
        db_.run("delete from permits; delete from deliveries; delete from attempts; delete from executions");
        std::string limits;
        for (const auto* of : {"requests", "cost", "concurrency"})
            for (const auto* scope : {"global", "organization", "workflow_type"})
                for (const auto* kind : {"sliding_window", "fixed_window", "token_bucket"}) {
                    const bool at_once = of == std::string("concurrency");
                    if (at_once && kind != std::string("sliding_window")) continue;
                    limits += std::string(limits.empty() ? "[" : ", ") + R"({"name": ")" + of + "." + scope + "." +
                              kind + R"(", "of": ")" + of + R"(", "scope": ")" + scope + R"(", "limit": )" +
                              std::to_string(pick(1, 60));
                    const int spans[] = {1, 10, 60, 3600, 86400};
                    if (!at_once)
                        limits +=
                            R"(, "kind": ")" + std::string(kind) + R"(", "per": )" + std::to_string(spans[pick(0, 4)]);
                    if (kind == std::string("token_bucket")) limits += R"(, "burst": )" + std::to_string(pick(1, 30));
                    if (kind == std::string("fixed_window"))
                        limits += R"(, "reset_at": "0)" + std::to_string(pick(0, 9)) + R"(:30")";
                    limits += "}";
                }
        provider(limits + "]");
        for (int i = 0; i < 60; ++i) {
            const double ago = std::exp(std::uniform_real_distribution<double>(-2, 11.3)(random));
            const double took = std::min(ago, std::exp(std::uniform_real_distribution<double>(-5, 5)(random)));
            start(std::to_string(ago) + " seconds", pick(0, 9) == 0 ? "" : std::to_string(ago - took) + " seconds",
                  pick(0, 3), "calls", pick(0, 1) == 0 ? "default" : "acme", pick(0, 2'000'000));
        }
        db_.run("delete from deliveries where random() < 0.1");
        db_.transact([&](Tx& tx) {
            tx.run("set local jit = off");
            const auto times = tx.run("select now()");
            const TimePoint now = platform::RowReader(times, 0).time();
            ProviderMeters meters;
            meters.load(ProviderStore().load(tx), ProviderStore().permits(tx), now);
            const auto rows = tx.run(
                "select split_part(resource_type, ':', 3), used::bigint, capacity, coalesce(frees_at, 'epoch') "
                "from limit_use('default') where provider = 'test'");
            ASSERT_EQ(rows.size(), 21U);
            std::map<std::string, std::tuple<std::int64_t, std::int64_t, TimePoint>> told;
            for (std::size_t i = 0; i < rows.size(); ++i) {
                platform::RowReader row(rows, i);
                const auto name = row.text();
                const auto used = row.integer();
                const auto capacity = row.integer();
                told[name] = {used, capacity, row.time()};
            }
            for (const auto& applied : meters.applied({"default", "calls"}, {{"test", 1}})) {
                const auto& limit = applied.meter->limit();
                const auto& [used, capacity, frees_at] = told.at(limit.name);
                const auto where = limit.name + " " + std::to_string(domain::in_seconds(limit.per)) + " s, round " +
                                   std::to_string(round);
                EXPECT_EQ(capacity, limit.capacity()) << where;
                EXPECT_GE(used, applied.meter->used(now)) << where;
                const auto fits = applied.meter->fits_at(1, now);
                if (used < capacity) {
                    EXPECT_EQ(fits, now) << where;
                } else if (frees_at > now) {
                    ASSERT_TRUE(fits) << where;
                    EXPECT_GE(frees_at, *fits) << where;
                }
                equal += used == applied.meter->used(now);
                ++all;
            }
        });
    }
    EXPECT_GT(equal, all * 9 / 10) << "nor much stricter, of " << all;
}

// What refused, said what is left and went well at random: as the scheduler knows it that has seen all of it.
TEST_F(Availability, ItsWeatherIsNeverMilderThanTheHubs) {
    std::mt19937 random(43);  // NOLINT(cert-msc51-cpp): the same each time.
    const auto pick = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(random); };
    int closed = 0;
    int equal = 0;
    constexpr int kRounds = 150;
    for (int round = 0; round < kRounds; ++round) {
        const int window = std::array{10, 60, 3600}[static_cast<std::size_t>(pick(0, 2))];
        provider(R"([{"name": "rate", "of": "requests", "limit": 1000, "per": )" + std::to_string(window) + "}]");
        db_.transact([&](Tx& tx) {
            tx.run("delete from permits; delete from executions; delete from provider_weather");
            const auto times = tx.run("select now()");
            const TimePoint now = platform::RowReader(times, 0).time();
            const auto seconds = [](double length) {
                return std::chrono::duration_cast<domain::Duration>(std::chrono::duration<double>(length));
            };
            WeatherRecord record;
            if (pick(0, 3) == 0) record.cooling_until = now + seconds(pick(-20, 20) + 0.5);
            if (pick(0, 1) == 0) record.learnt = pick(1, 12);
            if (pick(0, 1) == 0) record.grows_at = now + seconds(pick(-window, window) + 0.5);
            if (pick(0, 2) == 0)
                record.quota = {Measure::requests, pick(0, 8), now - seconds(pick(1, window)),
                                now + seconds(pick(-5, window) + 0.5)};
            if (record == WeatherRecord{}) record.learnt = 3;
            WeatherStore().record(tx, "test", record, false);

            ProviderWeather weather(std::chrono::seconds{window}, 1000);
            weather.remember(record);
            // What happened, by when.
            std::vector<std::pair<TimePoint, std::function<void(TimePoint)>>> news;
            for (int i = pick(0, 8); i > 0; --i) {
                const double ago = std::exp(std::uniform_real_distribution<double>(-1, std::log(1.5 * window))(random));
                const double took = std::min(ago, std::exp(std::uniform_real_distribution<double>(-3, 2)(random)));
                const bool under_way = pick(0, 7) == 0;
                const domain::Need need{"test", pick(0, 2)};
                tx.run(made({std::to_string(ago) + " seconds", under_way ? "" : std::to_string(ago - took) + " seconds",
                             static_cast<int>(need.calls)}));
                news.emplace_back(now - seconds(ago), [&weather, need](TimePoint at) { weather.charge(need, at); });
                if (!under_way)
                    news.emplace_back(now - seconds(ago - took),
                                      [&weather, need](TimePoint at) { weather.end(need, at); });
            }
            std::stable_sort(news.begin(), news.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
            for (const auto& [at, happens] : news) happens(at);

            domain::Demand demand;
            demand.needs = {{"test", 1}};
            auto gate = ProviderCooling{"test", &weather, 0, std::nullopt}.check(demand, now);
            if (!gate) gate = ProviderLearnt{"test", &weather}.check(demand, now);
            const auto rows =
                tx.run("select closed, coalesce(opens_at, 'epoch') from weather_gates() where provider = 'test'");
            const bool told = rows.size() == 1 && platform::RowReader(rows, 0).flag();
            closed += gate.has_value();
            equal += gate.has_value() == told;
            if (gate) EXPECT_TRUE(told) << round << " " << gate->subject << " " << gate->detail;
        });
    }
    EXPECT_GT(closed, kRounds / 4);
    EXPECT_LT(closed, kRounds * 3 / 4);
    EXPECT_GT(equal, kRounds * 9 / 10) << "nor much rougher";
}

TEST_F(Availability, BudgetsAreShownAsOrdinaryWorkMeetsThem) {
    organization("acme");
    const auto budget = [&](const std::string& name, const std::string& scope, const std::string& unit,
                            const std::string& steps = "[]", const std::string& hard = "true") {
        db_.run(
            "insert into budgets (budget_id, name, scope_organization, window_unit, window_hours, limit_microusd, "
            "hard, steps) "
            "values (gen_random_uuid(), '" +
            name + "', " + scope + ", '" + unit + "', 2, 10000000, " + hard + ", '" + steps + "')");
    };
    const auto spend = [&](const std::string& name, const std::string& from, const std::string& until,
                           const std::string& usd) {
        db_.run(
            "insert into budget_balances (budget_id, window_start, window_end, settled, reserved, suspense) select "
            "budget_id, " +
            from + ", " + until + ", " + usd + " * 1000000 - 2, 1, 1 from budgets where name = '" + name +
            "' and retired_at is null");
    };
    const std::string today = "date_trunc('day', now() at time zone 'UTC') at time zone 'UTC'";
    const std::string tomorrow = today + " + interval '24 hours'";
    const auto turn = db_.value("select round(extract(epoch from " + tomorrow + " - now()))");
    budget("day", "'default'", "day");
    budget("everybody", "null", "day");
    budget("theirs", "'acme'", "day");
    budget("soft", "'default'", "day", "[]", "false");
    EXPECT_TRUE(said("budget:day").starts_with("true 0/10 ")) << said("budget:day");
    EXPECT_EQ(said("budget:theirs"), "");
    spend("day", today, tomorrow, "9.999999");
    EXPECT_TRUE(said("budget:day").starts_with("true 9/10 "));
    EXPECT_NEAR(std::stod(said("budget:day").substr(10)), std::stod(turn), 2);
    spend("day", today + " - interval '24 hours'", today, "5");
    EXPECT_TRUE(said("budget:day").starts_with("true 9/10 ")) << "yesterday's";
    spend("everybody", today, tomorrow, "10");
    EXPECT_TRUE(said("budget:everybody").starts_with("false 10/10 ")) << said("budget:everybody");
    spend("soft", today, tomorrow, "12");
    EXPECT_TRUE(said("budget:soft").starts_with("true 12/10 ")) << said("budget:soft");
    db_.run("update budgets set retired_at = now() where name = 'day'");
    EXPECT_EQ(said("budget:day"), "");

    // The last hours, at any time: until enough of it is no longer among them.
    budget("hours", "'default'", "rolling");
    spend("hours", "now() - interval '61 minutes'", "now() - interval '1 hour'", "4");
    spend("hours", "now() - interval '31 minutes'", "now() - interval '30 minutes'", "6");
    EXPECT_TRUE(said("budget:hours").starts_with("false 10/10 3600")) << said("budget:hours");
    spend("hours", "now() - interval '1 minute'", "now()", "5");
    EXPECT_TRUE(said("budget:hours").starts_with("false 15/10 5400")) << said("budget:hours");

    // Steps that are on.
    for (const auto* action : {"stop", "pause_non_critical", "ask_human"})
        budget(action, "'default'", "day",
               R"([{"at_percent": 40, "action": "alert"}, {"at_percent": 50, "undone_below_percent": 30, "action": ")" +
                   std::string(action) + R"("}])");
    for (const auto* name : {"stop", "pause_non_critical", "ask_human"}) {
        const auto resource = std::string("budget:") + name;
        spend(name, today, tomorrow, "4.9");
        EXPECT_TRUE(said(resource).starts_with("true 4/10 ")) << said(resource);
        db_.run("update budgets set steps_on = 2, steps_window_start = " + today + ", steps_window_end = " + tomorrow);
        EXPECT_TRUE(said(resource).starts_with("false 4/10 ")) << "it is on until less than 30 % counts";
        db_.run("update budgets set steps_window_start = " + today +
                " - interval '24 hours', steps_window_end = " + today);
        EXPECT_TRUE(said(resource).starts_with("true 4/10 ")) << "all of them end with their window";
        db_.run("update budget_balances set settled = 5000000");
        EXPECT_TRUE(said(resource).starts_with("false 5/10 ")) << "it begins with the next turn";
        db_.run("update budgets set steps_on = 0; update budget_balances set settled = 0");
    }
    db_.run(
        "update budgets set approved_until = now() + interval '1 hour'; update budget_balances set settled = 5000000");
    EXPECT_TRUE(said("budget:ask_human").starts_with("true 5/10 ")) << said("budget:ask_human");
    EXPECT_TRUE(said("budget:stop").starts_with("false 5/10 "));
    const auto off_peak = [&](int from, int to) {
        db_.run("update budgets set steps = '" +
                std::string(R"([{"at_percent": 50, "action": "off_peak_hours", "from_hour": )") + std::to_string(from) +
                R"(, "to_hour": )" + std::to_string(to) + "}]' where name = 'stop'");
        return said("budget:stop").substr(0, 5);
    };
    const int hour = std::stoi(db_.value("select extract(hour from now() at time zone 'UTC')"));
    EXPECT_EQ(off_peak(hour, (hour + 2) % 24), "true ");
    EXPECT_EQ(off_peak((hour + 4) % 24, (hour + 6) % 24), "false");
    EXPECT_EQ(off_peak((hour + 20) % 24, (hour + 4) % 24), "true ");
}

TEST_F(Availability, ABudgetsWindowTurnsWhenTheHubTurnsIt) {
    std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): the same each time.
    const auto pick = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(random); };
    const char* zones[] = {
        "UTC",          "Europe/Berlin",    "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe",
        "Pacific/Apia", "America/Sao_Paulo"};
    const std::pair<WindowUnit, const char*> units[] = {
        {WindowUnit::day, "day"}, {WindowUnit::week, "week"}, {WindowUnit::month, "month"}};
    db_.transact([&](Tx& tx) {
        for (int i = 0; i < 600; ++i) {
            const auto& [unit, name] = units[pick(0, 2)];
            WindowRule rule{unit, zones[pick(0, 6)], pick(0, 23), pick(1, 7)};
            // Every other one on a night when clocks in Berlin or Sydney change, or close to it.
            auto at = domain::from_micros(1'600'000'000'000'000 + std::int64_t{pick(0, 400'000'000)} * 1'000'000);
            if (i % 2 == 0)
                at = *domain::parse_time(i % 4 == 0 ? "2026-10-25T00:00:00Z" : "2026-03-29T00:00:00Z") +
                     std::chrono::minutes{pick(-300, 300)};
            const auto window = window_at(rule, at);
            const auto rows = tx.run("select w.* from calendar_window('" + std::string(name) + "', '" + rule.zone +
                                     "', " + std::to_string(rule.reset_hour) + ", " +
                                     std::to_string(rule.first_weekday) + ", '" + domain::rfc3339(at) + "') w");
            platform::RowReader row(rows, 0);
            const auto start = row.time();
            EXPECT_EQ(domain::rfc3339(start), domain::rfc3339(window.start))
                << name << " " << rule.zone << " " << rule.reset_hour << " at " << domain::rfc3339(at);
            EXPECT_EQ(domain::rfc3339(row.time()), domain::rfc3339(window.end))
                << name << " " << rule.zone << " " << rule.reset_hour << " at " << domain::rfc3339(at);
        }
    });
    EXPECT_EQ(db_.value("select known_zone('Europe/Berlin') || ' ' || known_zone('No/Where')"), "Europe/Berlin UTC");
}

TEST_F(Availability, WhatIsPausedIsNotAvailable) {
    organization("acme");
    EXPECT_EQ(db_.value("select count(*) from check_resource_availability() where resource_type like 'pause:%'"), "0");
    db_.run(
        "insert into pauses (organization_id, workflow_type, until_at) values ('default', 'seo_monitor', now() + "
        "interval '50 seconds'), "
        "('default', '', null), ('acme', 'content_pipeline', null), ('default', 'over', now() - interval '1 second'), "
        "('', '', now() + interval '1 hour')");
    db_.run("insert into provider_pauses (organization_id, provider) values ('default', 'gemini'), ('acme', 'openai')");
    db_.run("update workflow_types set enabled = false where name = 'revenue_optimizer'");
    EXPECT_TRUE(said("pause:seo_monitor").starts_with("false 50")) << said("pause:seo_monitor");
    EXPECT_TRUE(said("pause:everything").starts_with("false 3600")) << said("pause:everything");
    EXPECT_EQ(
        db_.value(
            "select string_agg(resource_type, ' ' order by resource_type) from check_resource_availability() where "
            "resource_type like 'pause:%'"),
        "pause:default pause:everything pause:gemini pause:revenue_optimizer pause:seo_monitor");
    EXPECT_EQ(said("pause:default"), "false");
}

}
}
