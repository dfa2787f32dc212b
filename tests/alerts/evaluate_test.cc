#include "alerts/evaluate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace impresario::alerts {
namespace evaluate_test {

using domain::TimePoint;
using std::chrono::minutes;
using std::chrono::seconds;
const TimePoint kNow{std::chrono::hours{500000}};

Rule rule_of(const char* name = "deep", seconds hold = seconds{0}, seconds keep = seconds{0}) {
    Rule rule;
    rule.name = name;
    rule.reading = "queue_depth";
    rule.raise = 500;
    rule.clear = 400;
    rule.hold = hold;
    rule.keep = keep;
    rule.summary = "{{ value }} wait";
    return rule;
}

/// One rule, and what it makes of values as they come.
struct Watch {
    std::vector<Rule> rules;
    Conditions conditions = {};
    TimePoint now = kNow;
    Evaluation last = {};

    /// "+1 -1 =2": raised, resolved, firing.
    std::string read(const Readings& readings) {
        last = evaluate(rules, readings, conditions, now);
        conditions = last.conditions;
        return "+" + std::to_string(last.raised.size()) + " -" + std::to_string(last.resolved.size()) + " =" +
               std::to_string(last.firing.size());
    }
    std::string read(double value, seconds later = seconds{0}) {
        now += later;
        return read(Readings{{"queue_depth", {{{{"organization", "default"}}, value, {}}}}});
    }
};

TEST(Evaluate, RaisesOnceAndResolvesBelowTheLowerMark) {
    Watch watch{{rule_of()}};
    EXPECT_EQ(watch.read(499), "+0 -0 =0");
    EXPECT_EQ(watch.read(500), "+1 -0 =1");
    EXPECT_EQ(watch.last.firing.at(0).summary, "500 wait");
    EXPECT_EQ(watch.read(900), "+0 -0 =1");
    EXPECT_EQ(watch.last.firing.at(0).summary, "900 wait") << "it says how it is now";
    EXPECT_EQ(watch.read(400), "+0 -0 =1") << "hysteresis";
    EXPECT_EQ(watch.read(399, seconds{7}), "+0 -1 =0");
    EXPECT_EQ(watch.last.resolved.at(0).why, Ending::cleared);
    EXPECT_EQ(watch.last.resolved.at(0).alert.since, kNow);
    EXPECT_EQ(watch.last.resolved.at(0).alert.ends_at, kNow + seconds{7});
    EXPECT_TRUE(watch.conditions.empty());
    EXPECT_EQ(watch.read(450), "+0 -0 =0") << "and is not raised again in between";
}

TEST(Evaluate, MustHoldForAsLongAsItSays) {
    Watch watch{{rule_of("deep", seconds{120})}};
    EXPECT_EQ(watch.read(600), "+0 -0 =0");
    EXPECT_EQ(watch.last.wake, kNow + seconds{120});
    EXPECT_EQ(watch.read(600, seconds{119}), "+0 -0 =0");
    EXPECT_EQ(watch.read(600, seconds{1}), "+1 -0 =1");
    EXPECT_EQ(watch.last.firing.at(0).since, kNow) << "since it began, not since it was told";
    EXPECT_FALSE(watch.last.wake);

    Watch broken{{rule_of("deep", seconds{120})}};
    broken.read(600);
    EXPECT_EQ(broken.read(450, seconds{60}), "+0 -0 =0");
    EXPECT_EQ(broken.read(600, seconds{60}), "+0 -0 =0") << "it begins anew: what is pending has no hysteresis";
    EXPECT_EQ(broken.read(600, seconds{120}), "+1 -0 =1");
}

TEST(Evaluate, WhatFlapsIsRaisedOnce) {
    Watch watch{{rule_of("deep", seconds{0}, seconds{300})}};
    EXPECT_EQ(watch.read(600), "+1 -0 =1");
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(watch.read(10, seconds{60}), "+0 -0 =1");
        EXPECT_EQ(watch.last.wake, watch.now + seconds{300});
        EXPECT_EQ(watch.read(10, seconds{200}), "+0 -0 =1");
        EXPECT_EQ(watch.read(600, seconds{40}), "+0 -0 =1");
    }
    watch.read(10, seconds{1});
    EXPECT_EQ(watch.read(10, seconds{299}), "+0 -0 =1");
    EXPECT_EQ(watch.read(10, seconds{1}), "+0 -1 =0");
    EXPECT_EQ(watch.last.resolved.at(0).alert.summary, "600 wait") << "as it last was while it held";
}

TEST(Evaluate, WhatIsGoneResolvesAndWhatCouldNotBeReadDoesNot) {
    Watch watch{{rule_of()}};
    watch.read(600);
    EXPECT_EQ(watch.read(Readings{}), "+0 -0 =1") << "its reader failed";
    watch.now += std::chrono::hours{24};
    EXPECT_EQ(watch.read(Readings{{"failed_percent", {}}}), "+0 -0 =1") << "others were read";
    EXPECT_EQ(watch.read(NAN), "+0 -0 =1") << "this one is not known";
    EXPECT_EQ(watch.read(Readings{{"queue_depth", {}}}), "+0 -1 =0") << "read, and not there";
    EXPECT_EQ(watch.last.resolved.at(0).why, Ending::vanished);

    Watch patient{{rule_of("deep", seconds{0}, seconds{60})}};
    patient.read(600);
    EXPECT_EQ(patient.read(Readings{{"queue_depth", {}}}), "+0 -0 =1") << "not before it has stayed away";
    patient.now += seconds{60};
    EXPECT_EQ(patient.read(Readings{}), "+0 -0 =1") << "which nobody knows";
    EXPECT_EQ(patient.read(Readings{{"queue_depth", {}}}), "+0 -1 =0");

    Watch pending{{rule_of("deep", seconds{120})}};
    pending.read(600);
    EXPECT_EQ(pending.read(Readings{}), "+0 -0 =0");
    EXPECT_EQ(pending.conditions.size(), 1U);
    EXPECT_EQ(pending.read(Readings{{"queue_depth", {}}}), "+0 -0 =0") << "what nobody was told does not resolve";
    EXPECT_TRUE(pending.conditions.empty());
}

TEST(Evaluate, ARuleThatGoesEndsWhatItRaised) {
    for (const bool removed : {false, true}) {
        Watch watch{{rule_of(), rule_of("other", seconds{120})}};
        watch.read(600);
        if (removed)
            watch.rules.clear();
        else
            for (auto& rule : watch.rules) rule.enabled = false;
        EXPECT_EQ(watch.read(Readings{}), "+0 -1 =0");
        EXPECT_EQ(watch.last.resolved.at(0).why, Ending::rule_gone);
        EXPECT_EQ(watch.last.resolved.at(0).alert.summary, "deep is not watched any more");
        EXPECT_EQ(watch.last.resolved.at(0).alert.severity(), Severity::warning);
        EXPECT_TRUE(watch.conditions.empty());
    }
}

TEST(Evaluate, EachSetOfLabelsIsAnAlertOfItsOwn) {
    Watch watch{{rule_of(), rule_of("other")}};
    const auto all = [](double a, double b) {
        return Readings{{"queue_depth", {{{{"organization", "a"}}, a, {"e1"}}, {{{"organization", "b"}}, b, {"e2"}}}}};
    };
    EXPECT_EQ(watch.read(all(600, 600)), "+4 -0 =4");
    EXPECT_EQ(watch.read(all(600, 1)), "+0 -2 =2");
    EXPECT_EQ(watch.last.firing.at(0).evidence, std::vector<std::string>{"e1"});
    EXPECT_EQ(watch.read(all(600, 600)), "+2 -0 =4");
}

TEST(Evaluate, OfTheSameLabelsTheWorstCounts) {
    auto rule = rule_of();
    rule.labels["organization"] = "all";
    Watch watch{{rule}};
    EXPECT_EQ(watch.read(Readings{{"queue_depth",
                                   {{{{"organization", "a"}}, 1, {}},
                                    {{{"organization", "b"}}, 700, {}},
                                    {{{"organization", "c"}}, NAN, {}},
                                    {{{"organization", "d"}}, 2, {}}}}}),
              "+1 -0 =1");
    EXPECT_EQ(watch.last.firing.at(0).summary, "700 wait");
}

TEST(Evaluate, AnAcknowledgementLastsAsLongAsTheFiring) {
    Watch watch{{rule_of()}};
    watch.read(600);
    ASSERT_EQ(watch.conditions.size(), 1U);
    watch.conditions.begin()->second.acknowledged = Acknowledgement{"ann", kNow};
    watch.read(700);
    ASSERT_EQ(watch.last.firing.size(), 1U);
    EXPECT_EQ(watch.last.firing.at(0).acknowledged->by, "ann");
    watch.read(Readings{});
    EXPECT_TRUE(watch.last.firing.at(0).acknowledged) << "read or not";
    watch.read(1);
    watch.read(600);
    EXPECT_FALSE(watch.last.firing.at(0).acknowledged);
}

TEST(Evaluate, EvidenceIsBounded) {
    Watch watch{{rule_of()}};
    watch.read(Readings{{"queue_depth", {{{}, 600, std::vector<std::string>(1000, "e")}}}});
    EXPECT_EQ(watch.last.firing.at(0).evidence.size(), kMostEvidence);
}

TEST(Evaluate, TimeThatGoesBackIsHarmless) {
    Watch watch{{rule_of("deep", seconds{60}, seconds{60})}};
    watch.read(600);
    EXPECT_EQ(watch.read(600, -seconds{3600}), "+0 -0 =0");
    EXPECT_EQ(watch.read(600, seconds{3660}), "+1 -0 =1");
    watch.read(1);
    EXPECT_EQ(watch.read(1, -seconds{3600}), "+0 -0 =1");
    EXPECT_EQ(watch.read(1, seconds{3660}), "+0 -1 =0");
    EXPECT_GE(*watch.last.resolved.at(0).alert.ends_at, watch.last.resolved.at(0).alert.since);
}

// Against a reference that looks at the whole history of one series: what fires is what has held for `hold` and has not
// been clear for `keep` since.
TEST(Evaluate, RandomSequencesAgreeWithTheirHistory) {
    for (unsigned seed = 1; seed <= 300; ++seed) {
        std::mt19937 random(seed);
        const auto hold = seconds{random() % 3 * 40};
        const auto keep = seconds{random() % 3 * 40};
        Watch watch{{rule_of("deep", hold, keep)}};
        bool fires = false;
        std::optional<TimePoint> held_since;
        std::optional<TimePoint> clear_since;
        int raised = 0;
        int resolved = 0;
        for (int i = 0; i < 300; ++i) {
            watch.now += seconds{random() % 30};
            const auto what = random() % 10;
            const double value = what < 4 ? 600 : what < 6 ? 450 : 100;
            const bool read = what != 9;
            const bool there = what != 8;
            Readings readings;
            if (read) readings["queue_depth"];
            if (read && there) readings["queue_depth"].push_back({{}, value, {}});
            watch.read(readings);
            if (read) {
                const bool high = there && value >= 500;
                const bool low = !there || value < 400;
                if (!fires) {
                    if (!high) held_since.reset();
                    if (high && !held_since) held_since = watch.now;
                    if (held_since && watch.now - *held_since >= hold) {
                        fires = true;
                        ++raised;
                    }
                } else {
                    if (!low) clear_since.reset();
                    if (low && !clear_since) clear_since = watch.now;
                    if (clear_since && watch.now - *clear_since >= keep) {
                        fires = false;
                        held_since.reset();
                        clear_since.reset();
                        ++resolved;
                    }
                }
            }
            raised -= static_cast<int>(watch.last.raised.size());
            resolved -= static_cast<int>(watch.last.resolved.size());
            ASSERT_EQ(watch.last.firing.size(), fires ? 1U : 0U) << "seed " << seed << " step " << i;
            ASSERT_EQ(raised, 0) << seed;
            ASSERT_EQ(resolved, 0) << seed;
        }
    }
}

}
}
