#include "resource_manager/throttle.h"

#include <gtest/gtest.h>

#include <random>

namespace impresario::resource_manager {
namespace throttle_test {

using std::chrono::milliseconds;
using std::chrono::seconds;

Pressure at(double load) { return {load, "wait_ms", static_cast<std::int64_t>(load * 500), 500}; }

TEST(Pressure, IsWhatIsWorstInPartsOfItsLimit) {
    const PressureLimits limits;
    EXPECT_EQ(pressure({}, limits).load, 0);
    DatabaseReading reading{milliseconds{250}, milliseconds{1500}, 4, seconds{2}};
    auto worst = pressure(reading, limits);
    EXPECT_EQ(worst.load, 1.5);
    EXPECT_EQ(worst.what, "write_ms");
    EXPECT_EQ(worst.value, 1500);
    EXPECT_EQ(worst.limit, 1000);
    reading.lock_waits = 8;
    EXPECT_EQ(pressure(reading, limits).what, "lock_waits");
    reading.replication_lag = seconds{60};
    EXPECT_EQ(pressure(reading, limits).load, 6);
    EXPECT_EQ(memory_pressure(2048, limits).load, 2);
    PressureLimits off;
    off.memory_mb = 0;
    EXPECT_EQ(memory_pressure(2048, off).load, 0);
}

TEST(Throttle, ShrinksBatchesBeforeItCloses) {
    Throttle throttle(100, true);
    std::vector<int> batches;
    for (int i = 0; i < 7; ++i) {
        EXPECT_TRUE(throttle.read(at(2)));
        batches.push_back(throttle.batch());
    }
    EXPECT_EQ(batches, (std::vector<int>{50, 25, 12, 6, 3, 1, 0}));
    EXPECT_FALSE(throttle.read(at(2)));
    const auto gate = throttle.gate();
    EXPECT_EQ(gate.kind, domain::GateKind::database);
    EXPECT_EQ(gate.numbers[0].second, "1000");
}

TEST(Throttle, AtItsLimitAndNotBeyondTwiceItGoesOnByOnes) {
    Throttle throttle(100, true);
    for (int i = 0; i < 50; ++i) throttle.read(at(1.9));
    EXPECT_EQ(throttle.batch(), 1);
    Throttle memory(100, false);
    for (int i = 0; i < 50; ++i) memory.read(at(100));
    EXPECT_EQ(memory.batch(), 1) << "what may not close does not";
}

TEST(Throttle, GrowsAgainOnlyAfterACalmWhileAndDoesNotSwing) {
    Throttle throttle(100, true);
    for (int i = 0; i < 7; ++i) throttle.read(at(3));
    ASSERT_TRUE(throttle.closed());
    for (int i = 0; i < 100; ++i) EXPECT_FALSE(throttle.read(at(0.8))) << "between the two nothing moves";
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(throttle.read(at(0.1)));
    throttle.read(at(0.6));
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(throttle.read(at(0.1))) << "the calm begins anew";
    std::vector<int> batches;
    while (!throttle.whole()) {
        EXPECT_TRUE(throttle.read(at(0.1)));
        batches.push_back(throttle.batch());
    }
    EXPECT_EQ(batches, (std::vector<int>{1, 2, 4, 8, 16, 32, 64, 100}));
    EXPECT_FALSE(throttle.read(at(0.1)));
}

TEST(Throttle, StaysWithinItsBoundsWhateverComes) {
    std::mt19937 random(3);
    for (const int most : {1, 2, 100, 10000})
        for (const bool may_close : {false, true}) {
            Throttle throttle(most, may_close);
            for (int i = 0; i < 5000; ++i) {
                const int before = throttle.batch();
                const double load = static_cast<double>(random() % 400) / 100;
                throttle.read(at(load));
                ASSERT_GE(throttle.batch(), may_close ? 0 : 1);
                ASSERT_LE(throttle.batch(), most);
                if (throttle.batch() > before) ASSERT_LT(load, 0.5);
                if (throttle.closed() && before > 0) ASSERT_GE(load, 2);
            }
            for (int i = 0; i < 30; ++i) throttle.read(at(0));
            EXPECT_TRUE(throttle.whole());
        }
}

}
}
