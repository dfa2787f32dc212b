#include "domain/time.h"

#include <gtest/gtest.h>

namespace impresario::domain {
namespace {

TEST(Times, GoThereAndBack) {
    for (const std::int64_t micro : {0LL, 1LL, 1764282191123456LL, -1LL, 253402300799999999LL, 951782400000000LL}) {
        const auto at = from_micros(micro);
        EXPECT_EQ(parse_time(rfc3339(at)), at) << rfc3339(at);
    }
    EXPECT_EQ(rfc3339(from_micros(1764282191123456)), "2025-11-27T22:23:11.123456Z");
}

TEST(Times, ReadOffsetsAndPostgresql) {
    const auto at = from_micros(1764282191500000);
    EXPECT_EQ(parse_time("2025-11-27T22:23:11.5Z"), at);
    EXPECT_EQ(parse_time("2025-11-27T23:23:11.5+01:00"), at);
    EXPECT_EQ(parse_time("2025-11-27 22:23:11.5+00"), at);
    EXPECT_EQ(parse_time("2025-11-27T17:53:11.500000999-04:30"), at);
}

TEST(Times, StayInTheYears1To9999) {
    EXPECT_EQ(parse_time("0001-01-01T00:00:00Z"), kFirstTime);
    EXPECT_EQ(parse_time("9999-12-31T23:59:59.999999Z"), kLastTime);
    EXPECT_EQ(parse_time("0001-01-01T05:00:00+05:00"), kFirstTime);
    for (const auto* text : {"0000-12-31T23:59:59Z", "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01",
                             "infinity", "-infinity", "10000-01-01T00:00:00Z"})
        EXPECT_FALSE(parse_time(text)) << text;
    EXPECT_EQ(rfc3339(kNever), "9999-12-31T23:59:59.999999Z");
    EXPECT_EQ(rfc3339(TimePoint::min()), "0001-01-01T00:00:00.000000Z");
}

TEST(Times, RefuseWhatIsNoTime) {
    for (const auto* text :
         {"", "now", "2025-13-01T00:00:00Z", "2025-02-30T00:00:00Z", "2025-11-27T24:00:00Z", "2025-11-27T22:23:11",
          "2025-11-27", "2025-11-27T22:23:11.Z", "2025-11-27T22:23:11Zx", "2025-11-27T22:61:00Z"})
        EXPECT_FALSE(parse_time(text)) << text;
}

TEST(Times, SaturateAtTheEnds) {
    EXPECT_EQ(saturating_add(TimePoint::max() - Duration{1}, Duration{5}), TimePoint::max());
    EXPECT_EQ(saturating_add(from_micros(1), Duration{2}), from_micros(3));
}

}
}
