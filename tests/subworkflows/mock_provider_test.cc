// What stands in for a provider refuses and bills as it says.
#include "subworkflows/mock_provider/mock_provider.h"

#include <gtest/gtest.h>

namespace impresario::subworkflows::mock_provider {
namespace {

using domain::TimePoint;
using std::chrono::hours;
using std::chrono::seconds;

const TimePoint kNow{hours{500000}};

TEST(MockProvider, TakesItsLimitInAnyWindowAndSaysWhenOneMoreFits) {
    MockProvider provider({"gemini", 3, seconds{10}, {}, {500}});
    for (int i = 0; i < 3; ++i) {
        const auto bill = provider.ask("", kNow + seconds{i});
        ASSERT_TRUE(bill);
        EXPECT_EQ(bill->remaining, 2 - i);
        EXPECT_EQ(bill->reset_at, kNow + seconds{i + 10});
    }
    EXPECT_FALSE(provider.ask("", kNow + seconds{4}));
    EXPECT_EQ(provider.retry_after(kNow + seconds{4}), seconds{6});
    EXPECT_TRUE(provider.ask("", kNow + seconds{10}));
    EXPECT_EQ(provider.answered(), 4);
    EXPECT_EQ(provider.refused(), 1);
}

TEST(MockProvider, BillsTokensToTheMicroDollar) {
    MockProvider provider({"gemini", 3, seconds{10}, {}, {500}});
    const auto bill = provider.ask(std::string(4001, 'x'), kNow);
    ASSERT_TRUE(bill);
    EXPECT_EQ(bill->tokens, 1200);
    EXPECT_EQ(bill->cost, domain::MicroUsd{600});
}

TEST(MockProvider, ItsLimitMoves) {
    MockProvider provider({"gemini", 30, seconds{10}, seconds{60}, {500}});
    EXPECT_EQ(provider.limit(TimePoint{seconds{30}}), 30);
    EXPECT_EQ(provider.limit(TimePoint{seconds{90}}), 20);
    EXPECT_EQ(provider.limit(TimePoint{seconds{150}}), 30);
}

}
}
