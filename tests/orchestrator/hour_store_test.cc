#include "orchestrator/hour_store.h"

#include <gtest/gtest.h>

#include "tests/support/database.h"

namespace impresario::orchestrator {
namespace hour_store_test {

using std::chrono::hours;

TEST(HourStore, AnHourBeforeAnythingEndedWasNotPassedOver) {
    const testing::TestDatabase database;
    const auto hour = domain::parse_time("2026-12-01T10:00:00Z").value();
    const HourStore store;
    database.transact([&](platform::Tx& tx) {
        const auto looked = [&](domain::TimePoint at) { return store.read(tx, at, hours{24 * 30}); };
        EXPECT_FALSE(looked(hour).values);
        EXPECT_FALSE(looked(hour).passed_over);
        store.write(tx, hour, std::nullopt);
        EXPECT_FALSE(looked(hour).values);
        EXPECT_TRUE(looked(hour).passed_over);
        EXPECT_FALSE(looked(hour - hours{24}).passed_over);
        store.write(tx, hour + hours{24}, std::map<LaneSeries, double>{});
        EXPECT_TRUE(looked(hour + hours{24}).values);
        EXPECT_FALSE(looked(hour + hours{24}).passed_over) << "only a day before it";
    });
}

}
}
