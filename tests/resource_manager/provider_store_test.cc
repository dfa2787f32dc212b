// Against a real PostgreSQL.
#include "resource_manager/provider_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platform/database.h"
#include "platform/id_source.h"
#include "tests/support/database.h"

namespace impresario::resource_manager {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST(ProviderStore, EachPermitSaysWhatItsGrantAsked) {
    impresario::testing::TestDatabase database;
    platform::IdSource ids;
    const auto now = domain::from_micros(1'700'000'000'000'000);
    const domain::Lane content{"default", "content"};
    const domain::Lane seo{"other", "seo"};
    const std::vector<domain::Need> one{{"gemini", 1, 20, 3, {400}}};
    const std::vector<domain::Need> two{{"gemini", 5, 60, 7, {800}}, {"openai", 9, 100, 11, {1200}}};
    std::vector<PermitRecord> permits;
    const auto granted = [&](const domain::Lane& lane, const std::vector<domain::Need>& needs, int fence,
                             const std::string& keys = "") {
        permits.push_back({ids.make<domain::ExecutionId>(now), lane, ids.make<domain::AttemptId>(now), fence, fence + 1,
                           needs, keys, now + std::chrono::seconds(fence)});
    };
    granted(content, one, 1);
    granted(content, two, 1);
    granted(seo, two, 1);
    granted(content, one, 1, "/customer\tacme");
    granted(content, one, 2);
    database.transact([&](platform::Tx& tx) { ProviderStore().charge(tx, permits); });
    std::vector<std::string> rows;
    for (const auto& each : permits)
        rows.push_back(database.value(
            "select string_agg(concat_ws(' ', organization_id, workflow_type, fence, delivery, provider, calls, "
            "tokens, "
            "items, cost_microusd, extract(epoch from lease_until - '" +
            domain::rfc3339(now) +
            "')::int), ', ' order by provider) || coalesce((select ' ' || replace(limit_keys, E'\\t', '=') from "
            "permits p "
            "where p.attempt_id = v.attempt_id), '') from provider_permits v where execution_id = '" +
            each.execution.text() + "' and attempt_id = '" + each.attempt.text() + "' group by v.attempt_id"));
    EXPECT_THAT(rows, ElementsAre("default content 1 2 gemini 1 20 3 400 1",
                                  "default content 1 2 gemini 5 60 7 800 1, default content 1 2 openai 9 100 11 1200 1",
                                  "other seo 1 2 gemini 5 60 7 800 1, other seo 1 2 openai 9 100 11 1200 1",
                                  "default content 1 2 gemini 1 20 3 400 1 /customer=acme",
                                  "default content 2 3 gemini 1 20 3 400 2"));
}

/// One grant of 10 calls, 100 tokens and 1,000 micro-dollars, and what is said to have been used of it.
struct Usage : ::testing::Test {
    Usage() {
        granted = {ids.make<domain::ExecutionId>(now),
                   {"default", "content"},
                   ids.make<domain::AttemptId>(now),
                   1,
                   2,
                   {{"gemini", 10, 100, 0, {1000}}},
                   "",
                   now + std::chrono::seconds{30}};
        database.transact([&](platform::Tx& tx) { ProviderStore().charge(tx, {granted}); });
    }
    UsageCharge told(std::int64_t calls, std::int64_t tokens, std::int64_t cost,
                     const std::string& provider = "gemini") const {
        return {granted.execution, granted.attempt, granted.lane, "", {provider, calls, tokens, 0, {cost}}};
    }
    void charge(const std::vector<UsageCharge>& charges) {
        database.transact([&](platform::Tx& tx) { ProviderStore().charge_usage(tx, charges); });
    }
    /// As SQL records it, of the same attempt.
    void recorded(int calls, std::int64_t cost) {
        database.run(
            "insert into usage_charges (execution_id, attempt_id, provider, organization_id, workflow_type, "
            "beyond, calls, cost_microusd) values ('" +
            granted.execution.text() + "', '" + granted.attempt.text() +
            "', 'gemini', 'default', 'content', "
            "false, " +
            std::to_string(calls) + ", " + std::to_string(cost) + ")");
    }
    /// "calls tokens cost" of each that is counted now.
    std::vector<std::string> counted(int most = 100) {
        std::vector<std::string> texts;
        database.transact([&](platform::Tx& tx) {
            for (const auto& each : ProviderStore().count_usage(tx, most)) {
                EXPECT_TRUE(each.beyond);
                EXPECT_EQ(each.lane, granted.lane);
                texts.push_back(std::to_string(each.need.calls) + " " + std::to_string(each.need.tokens) + " " +
                                std::to_string(each.need.cost.value));
            }
        });
        return texts;
    }
    std::int64_t loaded() {
        std::int64_t calls = 0;
        database.transact([&](platform::Tx& tx) {
            for (const auto& each : ProviderStore().permits(tx))
                if (each.beyond) calls += each.need.calls;
        });
        return calls;
    }

    impresario::testing::TestDatabase database;
    platform::IdSource ids;
    domain::TimePoint now = domain::from_micros(1'700'000'000'000'000);
    PermitRecord granted;
};

TEST_F(Usage, OnlyWhatIsBeyondTheGrantIsChargedAndOnce) {
    charge({told(10, 100, 1000)});
    EXPECT_THAT(counted(), IsEmpty()) << "it was granted";
    charge({told(12, 50, 900), told(13, 60, 1500)});
    EXPECT_THAT(counted(), ElementsAre("3 0 500")) << "both are all until then";
    EXPECT_THAT(counted(), IsEmpty());
    charge({told(13, 60, 1500)});
    EXPECT_THAT(counted(), IsEmpty()) << "the same again";
    charge({told(13, 160, 1600), told(7, 0, 0, "openai"), told(7, 0, 0, "nobody")});
    EXPECT_THAT(counted(), UnorderedElementsAre("0 60 100", "7 0 0")) << "nothing was granted of openai";
    EXPECT_EQ(loaded(), 10) << "the next to lead knows";
}

TEST_F(Usage, WhatSqlRecordsIsHeldAgainstTheGrantInItsOrder) {
    recorded(4, 600);
    recorded(5, 600);
    recorded(3, 0);
    EXPECT_EQ(loaded(), 0) << "it waits to be counted";
    EXPECT_THAT(counted(2), UnorderedElementsAre("0 0 0", "0 0 200"));
    EXPECT_THAT(counted(2), ElementsAre("2 0 0"));
    recorded(6, 1);
    EXPECT_THAT(counted(2), ElementsAre("6 0 1"));
    EXPECT_EQ(loaded(), 8);
}

}
}
