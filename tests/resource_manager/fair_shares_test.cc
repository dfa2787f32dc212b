// Whose turn it is, and who has had what: the virtual times of fair queueing, minimum shares, what a policy may say.
#include "resource_manager/fair_shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "resource_manager/fairness_json.h"

namespace impresario::resource_manager {
namespace fair_shares_test {

using domain::Lane;
using domain::TimePoint;
using std::chrono::seconds;
using ::testing::HasSubstr;

const TimePoint kNow{std::chrono::hours{500000}};

TEST(FairClock, WhatIsStartedCountsAgainstTheWeight) {
    FairClock clock;
    clock.attend({"a", "b"});
    clock.charge("a", 6, 3);
    clock.charge("b", 1, 1);
    EXPECT_DOUBLE_EQ(clock.at("a"), 2);
    EXPECT_DOUBLE_EQ(clock.at("b"), 1);
    clock.attend({"a", "b"});
    EXPECT_DOUBLE_EQ(clock.at("a"), 1) << "whose turn it is stands at 0";
    EXPECT_DOUBLE_EQ(clock.at("b"), 0);
}

TEST(FairClock, WhoWasIdleComesBackWhereTheOthersAre) {
    FairClock clock;
    clock.attend({"a", "b", "late"});
    for (int i = 0; i < 1000; ++i) {
        clock.attend({"a", "b"});
        clock.charge("a", 1, 1);
        clock.charge("b", 1, 1);
    }
    clock.charge("a", 1, 1);
    clock.attend({"a", "b", "late"});
    EXPECT_DOUBLE_EQ(clock.at("late"), clock.at("b"));
}

TEST(FairClock, WhoLeavesAfterAGiantComesBackBehindIt) {
    FairClock clock;
    clock.attend({"a", "b"});
    clock.charge("b", 100, 1);
    for (int i = 0; i < 10; ++i) {
        clock.attend({"a"});
        clock.charge("a", 1, 1);
    }
    clock.attend({"a", "b"});
    EXPECT_DOUBLE_EQ(clock.at("b") - clock.at("a"), 90) << "to go away and come back does not pay";
}

TEST(FairClock, WhereNobodyWasAllBeginEven) {
    FairClock clock;
    clock.attend({"a", "b"});
    clock.charge("a", 100, 1);
    clock.attend({});
    clock.attend({"a", "b"});
    EXPECT_DOUBLE_EQ(clock.at("a"), clock.at("b"));
}

TEST(FairClock, WhatTheOthersCouldNotHaveIsNoDebtAndTheirOrderStays) {
    FairClock clock;
    for (int i = 0; i < 1000; ++i) {
        clock.attend({"a", "b", "alone"});
        // a and b wait for something that is closed.
        if (i == 0) clock.charge("a", 2, 1);
        clock.charge("alone", 1, 1);
    }
    clock.attend({"a", "b", "alone"});
    EXPECT_DOUBLE_EQ(clock.at("b"), 0);
    EXPECT_DOUBLE_EQ(clock.at("a"), 2);
    EXPECT_LE(clock.at("alone"), 4) << "as far as the largest start beyond the foremost of the others";
}

FairnessPolicy policy_of(std::vector<FairShare> shares, FairMeasure measure = FairMeasure::starts) {
    FairnessPolicy policy;
    policy.measure = measure;
    policy.shares = std::move(shares);
    return policy;
}

TEST(FairClock, WhatWasThoughtWronglyIsPutRight) {
    FairClock clock;
    clock.attend({"a", "b", "c"});
    for (const auto* each : {"a", "b", "c"}) clock.charge(each, 4, 2);
    clock.correct("a", 20, 2);
    clock.correct("b", -3, 2);
    clock.attend({"a", "b", "c"});
    EXPECT_DOUBLE_EQ(clock.at("b"), 0);
    EXPECT_DOUBLE_EQ(clock.at("c"), 1.5);
    EXPECT_DOUBLE_EQ(clock.at("a"), 11.5) << "further apart than any start: what it took is not forgotten";
    // Where they do not compete a hundred corrections are no debt.
    for (int i = 0; i < 100; ++i) {
        clock.charge("b", 4, 2);
        clock.correct("b", 4, 2);
        clock.correct("b", -4, 2);
        clock.attend({"a", "b", "c"});
    }
    EXPECT_LE(clock.at("b") - std::max(clock.at("a"), clock.at("c")), 10) << "the largest of all";
    clock.correct("idle", -5, 1);
    EXPECT_DOUBLE_EQ(clock.at("idle"), 0) << "less is no credit of who is not there";
    clock.correct("idle", 5, 1);
    EXPECT_DOUBLE_EQ(clock.at("idle"), 5);
}

const Lane kA1{"a", "one"};
const Lane kA2{"a", "two"};
const Lane kB{"b", "one"};

TEST(FairShares, WhoIsBelowItsMinimumSaysSoUntilItHasIt) {
    FairShares shares(policy_of({{"b", "", 1, 20}}));
    shares.attend({kA1, kB});
    EXPECT_FALSE(shares.organization("b", kNow).below_minimum) << "nothing was contested yet";
    for (int i = 0; i < 9; ++i) shares.charge(kA1, {1, true, false}, kNow);
    EXPECT_TRUE(shares.organization("b", kNow).below_minimum);
    EXPECT_FALSE(shares.organization("a", kNow).below_minimum) << "it has no minimum";
    for (int i = 0; i < 3; ++i) shares.charge(kB, {1, true, false}, kNow);
    EXPECT_FALSE(shares.organization("b", kNow).below_minimum) << "3 of 12";
    shares.charge(kA1, {100, false, false}, kNow);
    EXPECT_FALSE(shares.organization("b", kNow).below_minimum) << "what nobody else could have had does not count";
    shares.charge(kA1, {100, true, false}, kNow);
    EXPECT_TRUE(shares.organization("b", kNow).below_minimum);
    EXPECT_FALSE(shares.organization("b", kNow + seconds{61}).below_minimum) << "that was more than a minute ago";
}

TEST(FairShares, TypesShareWhatIsTheirOrganizations) {
    FairShares shares(policy_of({{"a", "two", 3}, {"a", "", 2}}));
    shares.attend({kA1, kA2, kB});
    shares.charge(kA2, {6, true, true}, kNow);
    EXPECT_DOUBLE_EQ(shares.organization("a", kNow).at, 3);
    EXPECT_DOUBLE_EQ(shares.type(kA2, kNow).at, 2);
    EXPECT_DOUBLE_EQ(shares.type(kA1, kNow).at, 0);
    EXPECT_DOUBLE_EQ(shares.organization("b", kNow).at, 0);
}

TEST(FairShares, AnotherMeasureBeginsEvenAnotherWeightDoesNot) {
    FairShares shares(policy_of({}));
    shares.attend({kA1, kB});
    shares.charge(kA1, {5, true, false}, kNow);
    shares.set_policy(policy_of({{"a", "", 2}}));
    EXPECT_DOUBLE_EQ(shares.organization("a", kNow).at, 5);
    shares.set_policy(policy_of({}, FairMeasure::tokens));
    EXPECT_DOUBLE_EQ(shares.organization("a", kNow).at, 0);
}

/// One says that it takes a tenth of what it does, and is found out when each has ended, long after.
TEST(FairShares, WhoSaysTooLittleHasNoMoreForIt) {
    FairShares shares(policy_of({}));
    std::deque<std::pair<Lane, FairCharge>> running;
    std::map<std::string, double> took;
    for (int i = 0; i < 4000; ++i) {
        shares.attend({kA1, kB});
        const auto a = shares.organization("a", kNow).at;
        const auto b = shares.organization("b", kNow).at;
        const bool honest = a <= b;
        const FairCharge charge{honest ? 10.0 : 1.0, true, false};
        shares.charge(honest ? kA1 : kB, charge, kNow);
        running.emplace_back(honest ? kA1 : kB, charge);
        if (running.size() <= 40) continue;
        shares.correct(running.front().first, running.front().second, 10, kNow);
        took[running.front().first.organization_id] += 10;
        running.pop_front();
    }
    EXPECT_NEAR(took["b"] / (took["a"] + took["b"]), 0.5, 0.01);
    // In the last minute, as far as is known: those of it that run are taken at their word.
    const auto standings = shares.standings(kNow);
    EXPECT_NEAR(*standings.front().had_percent, 50, 1);
}

TEST(FairShares, WhatIsPutRightLateCountsWhenItStarted) {
    FairShares shares(policy_of({{"b", "", 1, 40}}));
    shares.attend({kA1, kB});
    const FairCharge charge{10, true, false};
    for (int i = 0; i < 9; ++i) shares.charge(kA1, charge, kNow);
    shares.charge(kB, charge, kNow);
    const auto later = kNow + std::chrono::minutes{5};
    for (int i = 0; i < 9; ++i) shares.charge(kA1, charge, later);
    shares.charge(kB, charge, later);
    for (int i = 0; i < 9; ++i) shares.correct(kA1, charge, 1, kNow);
    EXPECT_TRUE(shares.organization("b", later).below_minimum) << "10 of 100";
    EXPECT_DOUBLE_EQ(shares.standings(later).front().started, 90);
    for (int i = 0; i < 9; ++i) shares.correct(kA1, charge, 1, later);
    EXPECT_FALSE(shares.organization("b", later).below_minimum) << "10 of 19";
    EXPECT_DOUBLE_EQ(shares.standings(later).front().started, 9);
}

TEST(FairShares, WhatDidNotStartCountsNothing) {
    FairShares shares(policy_of({}));
    shares.attend({kA1, kB});
    const FairCharge charge{5, true, false};
    shares.charge(kA1, charge, kNow);
    shares.correct(kA1, charge, 0, kNow);
    EXPECT_DOUBLE_EQ(shares.organization("a", kNow).at, shares.organization("b", kNow).at);
    EXPECT_DOUBLE_EQ(shares.standings(kNow).front().started, 0);
    const FairCharge alone{5, false, false};
    shares.charge(kA1, alone, kNow);
    shares.correct(kA1, alone, 50, kNow);
    EXPECT_DOUBLE_EQ(shares.organization("a", kNow).at, 5) << "what nobody else could have had makes no debt";
}

TEST(FairShares, TellsHowEachStands) {
    FairShares shares(policy_of({{"a", "", 3}, {"b", "", 1, 40}, {"c", "", 4}}));
    shares.attend({kA1, kB});
    for (int i = 0; i < 3; ++i) shares.charge(kA1, {1, true, false}, kNow);
    shares.charge(kB, {1, true, false}, kNow);
    const auto standings = shares.standings(kNow);
    ASSERT_EQ(standings.size(), 5U);
    EXPECT_EQ(standings[0].share.organization_id, "a");
    EXPECT_DOUBLE_EQ(*standings[0].asked_percent, 75);
    EXPECT_DOUBLE_EQ(*standings[0].had_percent, 75);
    EXPECT_DOUBLE_EQ(standings[0].started, 3);
    EXPECT_EQ(standings[1].share.workflow_type, "one");
    EXPECT_EQ(standings[2].share.organization_id, "b");
    EXPECT_TRUE(standings[2].below_minimum) << "25 of 40 %";
    EXPECT_FALSE(standings[4].asked_percent) << "c has no work";
    const auto read = stored_standings(standings_json(standings));
    ASSERT_EQ(read.size(), 5U);
    EXPECT_EQ(standings_json(read), standings_json(standings));
}

TEST(FairAmount, NothingIsFree) {
    PriceList::Price price;
    EXPECT_DOUBLE_EQ(fair_amount(FairMeasure::dollars, price), 100) << "micro-dollars";
    EXPECT_DOUBLE_EQ(fair_amount(FairMeasure::tokens, price), 1);
    EXPECT_DOUBLE_EQ(fair_amount(FairMeasure::starts, price), 1);
    EXPECT_DOUBLE_EQ(fair_amount(FairMeasure::seconds, price), 10e6) << "nobody knows how long it takes";
    price.cost = {2'000'000};
    price.tokens = 500;
    price.duration = seconds{3};
    EXPECT_DOUBLE_EQ(fair_amount(FairMeasure::dollars, price), 2e6);
    EXPECT_DOUBLE_EQ(fair_amount(FairMeasure::tokens, price), 500);
    EXPECT_DOUBLE_EQ(fair_amount(FairMeasure::seconds, price), 3e6);
}

/// Pointer and text of the first fault; empty: it was taken.
std::string fault(const std::string& json) {
    const auto parsed = parse_fairness(json);
    if (parsed) return {};
    return parsed.error().front().pointer + ": " + parsed.error().front().what;
}

TEST(FairnessJson, WhatIsWrongIsNamed) {
    const auto share = [](const std::string& members) {
        return fault(R"({"measure": "starts", "shares": [{"organization_id": "a", )" + members + "}]}");
    };
    EXPECT_EQ(share(R"("weight": 3, "minimum_percent": 20)"), "");
    EXPECT_THAT(share(R"("weight": 0)"), HasSubstr("/shares/0/weight: must be from 0.001"));
    EXPECT_THAT(share(R"("weight": -1)"), HasSubstr("/shares/0/weight"));
    EXPECT_THAT(share(R"("weight": "NaN")"), HasSubstr("/shares/0/weight: must be a number"));
    EXPECT_THAT(share(R"("weight": null)"), HasSubstr("/shares/0/weight"));
    EXPECT_THAT(share(R"("weight": 1e300)"), HasSubstr("/shares/0/weight"));
    EXPECT_THAT(share(R"("weight": 1e999)"), HasSubstr("/shares/0/weight: is a number too large"));
    EXPECT_THAT(share(R"("minimum_percent": 101)"), HasSubstr("/shares/0/minimum_percent"));
    EXPECT_THAT(share(R"("minimum_percent": -0.5)"), HasSubstr("/shares/0/minimum_percent"));
    EXPECT_THAT(share(R"("wieght": 1)"), HasSubstr("/shares/0/wieght"));
    EXPECT_THAT(fault(R"({"shares": []})"), HasSubstr("/measure: is missing"));
    EXPECT_THAT(fault(R"({"measure": "euros", "shares": []})"), HasSubstr("/measure: must be dollars"));
    EXPECT_THAT(fault(R"({"measure": "starts"})"), HasSubstr("/shares: is missing"));
    EXPECT_THAT(fault(R"({"measure": "starts", "shares": {}})"), HasSubstr("/shares: must be an array"));
    EXPECT_THAT(fault(R"({"measure": "starts", "shares": [{"weight": 2}]})"), HasSubstr("/shares/0/organization_id"));
    EXPECT_THAT(fault(R"({"measure": "starts", "shares": [{"organization_id": "a"}, {"organization_id": "a"}]})"),
                HasSubstr("/shares/1: names a a second time"));
    EXPECT_THAT(fault(R"({"measure": "starts", "shares": [{"organization_id": "a", "minimum_percent": 60},
                          {"organization_id": "b", "minimum_percent": 40.5}]})"),
                HasSubstr("/shares/1/minimum_percent: makes the minimum shares of all organizations 100.5 %"));
    EXPECT_EQ(fault(R"({"measure": "starts", "shares": [{"organization_id": "a", "minimum_percent": 60},
                        {"organization_id": "a", "workflow_type": "t", "minimum_percent": 100}]})"),
              "");
    EXPECT_EQ(fault("[]"), ": must be a JSON object");
    EXPECT_THAT(fault(R"({"measure": "starts", "shares": [{"organization_id": "a", "weight": NaN}]})"),
                HasSubstr("/shares/0/weight: "));
}

TEST(FairnessJson, IsReadAsItWasStored) {
    const auto parsed = parse_fairness(
        R"({"measure": "dollars", "reason": "r", "shares": [{"organization_id": "a", "workflow_type": "t", "weight": 0.25, "minimum_percent": 5}]})");
    ASSERT_TRUE(parsed);
    const auto stored = stored_fairness(fairness_json(*parsed));
    ASSERT_TRUE(stored);
    EXPECT_EQ(stored->measure, FairMeasure::dollars);
    EXPECT_EQ(stored->shares, parsed->shares);
    EXPECT_FALSE(stored_fairness(R"({"measure": "megawatts", "shares": []})"))
        << "a newer hub's: as if there were none";
}

}
}
