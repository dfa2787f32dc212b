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

}
}
