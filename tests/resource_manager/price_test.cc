#include "resource_manager/price.h"

#include <gtest/gtest.h>

namespace impresario::resource_manager {
namespace price_test {

using domain::MicroUsd;
using domain::Need;

constexpr std::int64_t kUsd = 1'000'000;

TEST(Price, IsWhatIsDeclaredUntilEnoughWasSeen) {
    TypeEstimates learnt;
    EXPECT_EQ(PriceList({}, MicroUsd{3 * kUsd}, &learnt).at(0).cost, MicroUsd{3 * kUsd});
    // Dearer ones count at once, cheaper ones once there were enough of them.
    learnt.learn(0, {MicroUsd{5 * kUsd}, {}, {}});
    EXPECT_GE(PriceList({}, MicroUsd{3 * kUsd}, &learnt).at(0).cost.value, 5 * kUsd);
    for (int i = 0; i < 500; ++i) learnt.learn(0, {MicroUsd{kUsd}, {}, {}});
    const PriceList list({}, MicroUsd{3 * kUsd}, &learnt);
    EXPECT_NEAR(static_cast<double>(list.at(0).cost.value), 1.0 * kUsd, 0.04 * kUsd);
    EXPECT_FALSE(list.at(0).guessed);
}

TEST(Price, IsOneForEachSizeOfInput) {
    TypeEstimates learnt;
    for (int i = 0; i < 100; ++i) {
        learnt.learn(2, {MicroUsd{kUsd}, {}, {}});
        learnt.learn(6, {MicroUsd{20 * kUsd}, {}, {}});
    }
    const PriceList list({}, std::nullopt, &learnt);
    EXPECT_LT(list.at(2).cost.value, 2 * kUsd);
    EXPECT_GT(list.at(6).cost.value, 19 * kUsd);
}

TEST(Price, OfWhichNobodyKnowsAnythingIsAGuess) {
    const PriceList list({{"gemini", 2}}, std::nullopt, nullptr, MicroUsd{4 * kUsd});
    EXPECT_EQ(list.at(0).cost, MicroUsd{4 * kUsd});
    EXPECT_TRUE(list.at(0).guessed);
    // No provider's own limit on cost is asked for a guess.
    EXPECT_EQ(list.at(0).needs.front().cost, MicroUsd{});
    EXPECT_EQ(list.at(0).needs.front().calls, 2);
    // To declare that it is free is something else.
    EXPECT_FALSE(PriceList({}, MicroUsd{0}, nullptr, MicroUsd{4 * kUsd}).at(0).guessed);
}

TEST(Price, IsSharedAsItsNeedsSay) {
    const std::vector<Need> needs{{"gemini", 1, 0, 0, {1 * kUsd}}, {"openai", 1, 0, 0, {3 * kUsd}}, {"maps", 1}};
    const auto shared = costing(needs, MicroUsd{8 * kUsd});
    EXPECT_EQ(shared[0].cost, MicroUsd{2 * kUsd});
    EXPECT_EQ(shared[1].cost, MicroUsd{6 * kUsd});
    EXPECT_EQ(shared[2].cost, MicroUsd{});
    // Never less than it is: what does not divide is rounded up.
    EXPECT_EQ(costing({{"a", 1, 0, 0, {1}}, {"b", 1, 0, 0, {2}}}, MicroUsd{10})[0].cost, MicroUsd{4});
    // Where none says anything, it may be anybody's.
    EXPECT_EQ(costing({{"a", 1}, {"b", 1}}, MicroUsd{10})[1].cost, MicroUsd{10});
    // The largest amounts there are.
    EXPECT_EQ(costing({{"a", 1, 0, 0, domain::kMostMoney}}, domain::kMostMoney)[0].cost, domain::kMostMoney);
}

TEST(Price, OfWhatAnInputSaysIsNotLearntFromOthers) {
    TypeEstimates learnt;
    for (int i = 0; i < 100; ++i) learnt.learn(0, {MicroUsd{kUsd}, 500, {}});
    const PriceList list({{"gemini", 1, 10, 0, {2}}}, std::nullopt, &learnt);
    const std::string calls = "12 calls gemini";
    EXPECT_EQ(list.at(0, &calls).needs.front().calls, 12);
    EXPECT_GT(list.at(0, &calls).needs.front().tokens, 400) << "tokens that its type says are learnt as always";
    EXPECT_GT(list.at(0, &calls).cost.value, kUsd / 2);
    const std::string tokens = "40 tokens gemini\n3000000 cost_usd gemini";
    EXPECT_EQ(list.at(0, &tokens).needs.front().tokens, 40);
    EXPECT_EQ(list.at(0, &tokens).cost, MicroUsd{3 * kUsd});
    EXPECT_EQ(list.at(0, &tokens).needs.front().cost, MicroUsd{3 * kUsd});
    EXPECT_FALSE(list.at(0, &tokens).guessed);
    const std::string free = "0 cost_usd gemini";
    EXPECT_EQ(list.at(0, &free).cost, MicroUsd{}) << "of nothing it is free";
    EXPECT_EQ(list.at(0).needs.front().calls, 1);
}

}
}
