#include "domain/money.h"

#include <gtest/gtest.h>

namespace impresario::domain {
namespace {

struct Good {
    const char* text;
    std::int64_t micro;
    bool rounded;
};

class MoneyReads : public ::testing::TestWithParam<Good> {};

TEST_P(MoneyReads, Exactly) {
    const auto parsed = parse_money(GetParam().text);
    ASSERT_TRUE(parsed) << GetParam().text;
    EXPECT_EQ(parsed->amount.value, GetParam().micro) << GetParam().text;
    EXPECT_EQ(parsed->rounded_up, GetParam().rounded) << GetParam().text;
}

INSTANTIATE_TEST_SUITE_P(Table, MoneyReads,
                         ::testing::Values(Good{"0", 0, false}, Good{"1", 1000000, false}, Good{"0.1", 100000, false},
                                           Good{"0.000001", 1, false}, Good{"0.0000001", 1, true},
                                           Good{"0.0000010", 1, false}, Good{"1e-6", 1, false}, Good{"1E-7", 1, true},
                                           Good{"12.5e2", 1250000000, false}, Good{"1e3", 1000000000, false},
                                           Good{"0.0", 0, false}, Good{"-0", 0, false}, Good{"0e99999", 0, false},
                                           Good{"1e-400", 1, true}, Good{"9007199254.740993", 9007199254740993, false},
                                           Good{"999999999999.999999", 999999999999999999, false},
                                           Good{"0.123456789", 123457, true}));

TEST(MoneyReads, RefusesWhatIsNotAnAmount) {
    for (const auto* text : {"", "abc", "1.2.3", "0x10", "NaN", "Infinity", "1e", "1e+", "e5", ".", "--1", "1 "}) {
        const auto parsed = parse_money(text);
        ASSERT_FALSE(parsed) << text;
        EXPECT_EQ(parsed.error(), MoneyError::not_a_number) << text;
    }
    EXPECT_EQ(parse_money("-1").error(), MoneyError::negative);
    EXPECT_EQ(parse_money("-0.0000001").error(), MoneyError::negative);
    EXPECT_EQ(parse_money("1e308").error(), MoneyError::too_large);
    EXPECT_EQ(parse_money("1000000000000").error(), MoneyError::too_large) << "numeric(18, 6) does not hold it";
    EXPECT_EQ(parse_money("999999999999.9999991").error(), MoneyError::too_large);
    EXPECT_EQ((MicroUsd{std::numeric_limits<std::int64_t>::max()} + MicroUsd{1}).value,
              std::numeric_limits<std::int64_t>::max());
    EXPECT_EQ(parse_money("99999999999999999999999999").error(), MoneyError::too_large);
}

TEST(MoneyAdds, ATenthTenTimesIsOne) {
    MicroUsd sum;
    for (int i = 0; i < 10; ++i) sum = sum + parse_money("0.1")->amount;
    EXPECT_EQ(decimal(sum), "1.000000");
}

TEST(MoneyWrites, SixPlaces) {
    EXPECT_EQ(decimal({0}), "0.000000");
    EXPECT_EQ(decimal({1}), "0.000001");
    EXPECT_EQ(decimal({12500}), "0.012500");
    EXPECT_EQ(decimal({-1500000}), "-1.500000");
}

}
}
