// Who is told what, told as stories; then random days against a reference and against the promises.
#include "alerts/notifier_plan.h"

#include <gtest/gtest.h>

#include <random>

namespace impresario::alerts {
namespace notifier_plan_test {

using domain::Duration;
using domain::TimePoint;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using Kind = DeliveryResult::Kind;
const TimePoint kNow{hours{500000}};

Alert alert_of(const std::string& name, const char* severity = "warning", TimePoint since = kNow) {
    Alert alert;
    alert.labels = {{"alertname", name}, {"severity", severity}, {"group", "g"}};
    alert.summary = name;
    alert.since = since;
    return alert;
}

/// A notifier and its world; deliveries end when the test says so.
struct World {
    std::vector<Alert> alerts = {};
    Route route = {};
    std::vector<Silence> silences = {};
    std::vector<Inhibition> inhibitions = {};
    std::map<std::string, Duration> pace = {};
    std::set<std::string> keepers = {};
    NotifierState state = {};
    TimePoint now = kNow;
    NotifierPlan last = {};

    World() {
        route.receiver = "slack";
        route.group_by = {"group"};
    }

    Alert& fire(const std::string& name, const char* severity = "warning") {
        return alerts.emplace_back(alert_of(name, severity, now));
    }
    void resolve(const std::string& name) {
        for (auto& alert : alerts)
            if (alert.summary == name && alert.firing(now)) alert.ends_at = now;
    }
    void silence(const std::string& name, Duration length) {
        silences.push_back({{}, {*parse_matcher("alertname=" + name)}, now, now + length, "ann", "why"});
    }

    std::string names(const std::vector<std::string>& fingerprints) const {
        std::set<std::string> names;
        for (const auto& fingerprint : fingerprints)
            for (const auto& alert : alerts)
                if (alert.fingerprint() == fingerprint) names.insert(alert.summary);
        std::string all;
        for (const auto& name : names) all += (all.empty() ? "" : ",") + name;
        return all;
    }
    /// "slack first +a,b -c": nothing is answered yet.
    std::string turn(Duration later = Duration{0}) {
        now += later;
        last = plan({alerts, route, silences, inhibitions, pace, keepers}, state, now);
        state = last.state;
        std::multiset<std::string> messages;
        for (const auto& each : last.send) {
            auto message = each.receiver + " " + std::string(name(each.kind));
            if (!each.firing.empty()) message += " +" + names(each.firing);
            if (!each.resolved.empty()) message += " -" + names(each.resolved);
            messages.insert(std::move(message));
        }
        std::string said;
        for (const auto& each : messages) said += (said.empty() ? "" : "; ") + each;
        return said;
    }
    void answer(Kind kind, std::optional<Duration> retry_after = std::nullopt) {
        for (const auto& each : std::vector(last.send))
            EXPECT_TRUE(settle(state, each, {kind, retry_after, "x"}, now, 0));
    }
    /// A turn, and all are delivered.
    std::string tell(Duration later = Duration{0}) {
        auto said = turn(later);
        answer(Kind::delivered);
        const auto after = plan({alerts, route, silences, inhibitions, pace, keepers}, state, now);
        EXPECT_TRUE(after.send.empty() || !pace.empty());
        state = after.state;
        last.wake = after.wake;
        return said;
    }
    const Told& told() const { return state.groups.begin()->second.told.at("slack"); }
};

TEST(Notifier, AnIncidentIsToldOnceThenWhenItChangesRepeatsAndEnds) {
    World world;
    world.fire("a");
    EXPECT_EQ(world.tell(), "") << "group_wait";
    EXPECT_EQ(world.last.wake, kNow + seconds{30});
    world.fire("b");
    EXPECT_EQ(world.tell(seconds{29}), "");
    EXPECT_EQ(world.tell(seconds{1}), "slack first +a,b");
    const auto incident = world.last.send.at(0).incident;
    EXPECT_EQ(world.tell(minutes{10}), "");
    EXPECT_EQ(world.last.wake, kNow + seconds{30} + hours{4});
    EXPECT_EQ(world.tell(hours{3} + minutes{50}), "slack repeat +a,b");
    world.fire("c");
    EXPECT_EQ(world.tell(minutes{1}), "") << "group_interval";
    world.resolve("a");
    EXPECT_EQ(world.tell(minutes{4}), "slack update +b,c -a");
    world.resolve("b");
    world.resolve("c");
    EXPECT_EQ(world.tell(minutes{5}), "slack resolved -b,c");
    EXPECT_EQ(world.last.send.at(0).incident, incident);
    EXPECT_EQ(world.tell(hours{100}), "");
    EXPECT_TRUE(world.state.groups.empty());
    EXPECT_FALSE(world.last.wake);
    world.alerts.clear();
    world.fire("a");
    world.turn();
    EXPECT_EQ(world.tell(seconds{30}), "slack first +a");
    EXPECT_NE(world.last.send.at(0).incident, incident) << "another one";
}

TEST(Notifier, WhatEndsBeforeAnybodyIsToldSaysNothing) {
    World world;
    world.fire("a");
    world.turn();
    world.resolve("a");
    EXPECT_EQ(world.turn(seconds{20}), "");
    EXPECT_EQ(world.turn(hours{5}), "");
    EXPECT_TRUE(world.state.groups.empty());
}

TEST(Notifier, WhatFiresAgainBeforeItsEndIsToldIsNoChange) {
    World world;
    world.fire("a");
    world.turn();
    world.tell(seconds{30});
    world.resolve("a");
    world.turn(minutes{1});
    world.fire("a");
    EXPECT_EQ(world.turn(minutes{10}), "") << "the old row says that it ended, the new one that it fires";
}

TEST(Notifier, GroupsAreToldApart) {
    World world;
    world.route.group_by = {"alertname"};
    world.fire("a");
    world.fire("b");
    world.turn();
    EXPECT_EQ(world.tell(seconds{30}).size(), std::string("slack first +a; slack first +b").size());
    EXPECT_NE(world.last.send.at(0).incident, world.last.send[1].incident);
    EXPECT_NE(world.last.send.at(0).id, world.last.send[1].id);
}

TEST(Notifier, KeysOfGroupsAreShort) {
    World world;
    world.route.group_by = {"alertname"};
    world.fire(std::string(1000, 'a'));
    world.fire(std::string(1000, 'a') + "b");
    world.turn();
    ASSERT_EQ(world.state.groups.size(), 2U);
    for (const auto& [key, group] : world.state.groups) EXPECT_LE(key.size(), 512U);
}

TEST(Notifier, NothingIsSaidWhileItIsSilenced) {
    World world;
    world.fire("a");
    world.silence("a", hours{1});
    EXPECT_EQ(world.turn(minutes{30}), "");
    EXPECT_EQ(world.last.wake, kNow + hours{1});
    EXPECT_EQ(world.turn(minutes{30}), "");
    EXPECT_EQ(world.tell(seconds{30}), "slack first +a") << "it fires still";
    world.silence("a", hours{5});
    EXPECT_EQ(world.turn(hours{4} + minutes{30}), "") << "not repeated either";
    world.resolve("a");
    EXPECT_EQ(world.turn(minutes{1}), "");
    EXPECT_EQ(world.turn(hours{9}), "") << "it resolved in silence";
    EXPECT_TRUE(world.state.groups.empty());
}

TEST(Notifier, WhoKeepsAnIncidentOpenHearsOfItsEndInSilence) {
    World world;
    world.keepers = {"slack"};
    world.fire("a");
    world.turn();
    EXPECT_EQ(world.tell(seconds{30}), "slack first +a");
    world.silence("a", hours{5});
    EXPECT_EQ(world.turn(hours{4} + minutes{30}), "") << "silenced, it is not repeated";
    world.resolve("a");
    EXPECT_EQ(world.tell(minutes{1}), "slack resolved -a");
    EXPECT_TRUE(world.state.groups.empty());
    world.fire("a");
    EXPECT_EQ(world.turn(minutes{1}), "") << "nor is it told while it is silenced";
    world.resolve("a");
    EXPECT_EQ(world.turn(minutes{1}), "") << "what was never told does not end";
}

TEST(Notifier, ASilenceThatEndsIsNoChange) {
    World world;
    world.fire("a");
    world.turn();
    world.tell(seconds{30});
    world.silence("a", hours{1});
    EXPECT_EQ(world.turn(minutes{1}), "");
    EXPECT_EQ(world.turn(hours{1}), "");
    EXPECT_EQ(world.turn(hours{3}), "slack repeat +a");
}

TEST(Notifier, WhatFiresStillWhenItsSilenceEndsIsToldAgainToWhomAllSeemedOver) {
    World world;
    world.fire("a");
    world.fire("b");
    world.turn();
    world.tell(seconds{30});
    world.silence("a", hours{1});
    world.resolve("b");
    EXPECT_EQ(world.tell(minutes{5}), "slack resolved -b");
    world.turn(hours{1});
    EXPECT_EQ(world.tell(seconds{30}), "slack first +a");
}

TEST(Notifier, WhatIsSilencedWhileItWaitsIsNotSent) {
    World world;
    world.fire("a");
    world.fire("b");
    world.turn();
    world.turn(seconds{30});
    world.answer(Kind::failed);
    world.silence("a", hours{1});
    EXPECT_EQ(world.turn(minutes{1}), "slack first +b");
    world.answer(Kind::failed);
    world.silence("b", hours{1});
    EXPECT_EQ(world.turn(minutes{1}), "");
    ASSERT_EQ(world.last.lapsed.size(), 1U) << "and is shown as never sent";
    EXPECT_EQ(world.last.lapsed[0].error, "x");
}

TEST(Notifier, WhatFollowsFromSomethingElseIsInhibited) {
    World world;
    world.inhibitions = {{{*parse_matcher("severity=critical")}, {*parse_matcher("severity=warning")}, {}}};
    world.fire("queue");
    world.fire("down", "critical");
    world.turn();
    EXPECT_EQ(world.tell(seconds{30}), "slack first +down");
    world.resolve("down");
    EXPECT_EQ(world.tell(minutes{5}), "slack update +queue -down");
}

TEST(Notifier, AFailureIsTriedAgainEverMoreSlowlyWithTheSameId) {
    World world;
    world.fire("a");
    world.turn();
    EXPECT_EQ(world.turn(seconds{30}), "slack first +a");
    const auto id = world.last.send.at(0).id;
    EXPECT_EQ(world.turn(seconds{1}), "") << "it is on its way";
    world.last.send = {world.state.groups.begin()->second.told.at("slack").delivery->notification};
    for (const int wait : {5, 10, 20, 40, 80, 160, 300, 300}) {
        world.answer(Kind::failed);
        const auto jittered = Duration{seconds{wait}} * 11 / 10;
        EXPECT_EQ(world.turn(jittered - Duration{1}), "");
        ASSERT_EQ(world.turn(Duration{1}), "slack first +a");
        EXPECT_EQ(world.last.send.at(0).id, id);
        if (wait < 300) {
            EXPECT_EQ(world.state.receivers["slack"].delivered, 0);
        }
    }
    EXPECT_EQ(world.last.send.at(0).tries, 9);
    EXPECT_EQ(world.state.receivers["slack"].failures, 8);
    world.answer(Kind::delivered);
    EXPECT_EQ(world.state.receivers["slack"].failures, 0);
    EXPECT_EQ(world.state.receivers["slack"].delivered, 1);
    EXPECT_EQ(world.state.receivers["slack"].failed, 8);
    EXPECT_EQ(world.turn(minutes{10}), "");
}

TEST(Notifier, WhatWasNeverTakenAndIsOverIsShownAsLapsed) {
    World world;
    world.fire("a");
    world.turn();
    world.turn(seconds{30});
    world.answer(Kind::failed);
    world.resolve("a");
    EXPECT_EQ(world.turn(minutes{1}), "") << "no end of what nobody was told";
    EXPECT_EQ(world.last.lapsed.size(), 1U);
    EXPECT_TRUE(world.state.groups.empty());
    EXPECT_EQ(world.state.receivers["slack"].failed, 1);
    EXPECT_EQ(world.state.receivers["slack"].delivered, 0);
}

TEST(Notifier, WhatWasPerhapsTakenIsToldToBeOver) {
    for (const bool answered : {true, false}) {
        World world;
        world.fire("a");
        world.turn();
        world.turn(seconds{30});
        if (answered) world.answer(Kind::unknown);
        world.resolve("a");
        EXPECT_EQ(world.tell(minutes{2}), "slack resolved -a") << answered;
        EXPECT_TRUE(world.state.groups.empty());
    }
}

TEST(Notifier, ANodeThatDiesWhileItSendsIsFollowedUpOnce) {
    World world;
    world.fire("a");
    world.turn();
    world.turn(seconds{30});
    const auto id = world.last.send.at(0).id;
    EXPECT_EQ(world.turn(seconds{59}), "") << "another node plans on, and does not send it twice";
    EXPECT_EQ(world.turn(seconds{1}), "slack first +a");
    EXPECT_EQ(world.last.send.at(0).id, id);
    world.answer(Kind::delivered);
    EXPECT_FALSE(settle(world.state, world.last.send.at(0), {Kind::failed}, world.now, 0)) << "too late";
    EXPECT_EQ(world.state.receivers["slack"].failures, 0);
}

TEST(Notifier, AReceiverThatAsksForPatienceIsLeftAloneByAllGroups) {
    World world;
    world.route.group_by = {"alertname"};
    world.pace["slack"] = seconds{1};
    for (const auto* name : {"a", "b", "c"}) world.fire(name);
    world.turn();
    EXPECT_EQ(world.turn(seconds{30}).size(), std::string("slack first +a").size()) << "one a second";
    EXPECT_EQ(world.last.wake, world.now + seconds{1});
    world.answer(Kind::failed, seconds{120});
    EXPECT_EQ(world.turn(seconds{119}), "");
    EXPECT_EQ(world.last.wake, world.now + seconds{1});
    std::set<std::string> told;
    for (int i = 0; i < 3; ++i) told.insert(world.tell(seconds{1}));
    EXPECT_EQ(told, (std::set<std::string>{"slack first +a", "slack first +b", "slack first +c"}));
}

TEST(Notifier, AnAlertAboutEverythingIsOneMessage) {
    World world;
    world.pace["slack"] = seconds{1};
    for (int i = 0; i < 200; ++i) world.fire("a" + std::to_string(i));
    world.turn();
    world.turn(seconds{30});
    ASSERT_EQ(world.last.send.size(), 1U);
    EXPECT_EQ(world.last.send.at(0).firing.size(), 200U);
    world.answer(Kind::failed, seconds{30});
    EXPECT_EQ(world.turn(seconds{29}), "") << "429 is waited out";
    world.turn(seconds{1});
    ASSERT_EQ(world.last.send.size(), 1U) << "and nothing is dropped";
    EXPECT_EQ(world.last.send.at(0).firing.size(), 200U);
    EXPECT_EQ(world.last.send.at(0).tries, 2);
}

TEST(Notifier, WhatIsRefusedForGoodWaitsForTheNextRepetitionOrAChange) {
    World world;
    world.fire("a");
    world.turn();
    world.turn(seconds{30});
    world.answer(Kind::refused);
    EXPECT_EQ(world.turn(hours{3}), "");
    EXPECT_EQ(world.state.receivers["slack"].last_error, "x");
    EXPECT_EQ(world.state.receivers["slack"].delivered, 0);
    EXPECT_EQ(world.turn(hours{1}), "slack first +a");
    world.answer(Kind::refused);
    world.fire("b");
    EXPECT_EQ(world.turn(minutes{4}), "");
    EXPECT_EQ(world.tell(minutes{1}), "slack first +a,b");
    world.resolve("a");
    world.resolve("b");
    world.turn(minutes{5});
    world.answer(Kind::refused);
    EXPECT_EQ(world.turn(hours{5}), "");
    EXPECT_TRUE(world.state.groups.empty()) << "it is over all the same";
}

TEST(Notifier, WhatNobodyAcknowledgesEscalates) {
    World world;
    world.route.escalations = std::vector<Escalation>{{minutes{15}, "page"}, {hours{1}, "boss"}};
    world.fire("a");
    world.turn();
    world.tell(seconds{30});
    EXPECT_EQ(world.last.wake, kNow + minutes{15});
    EXPECT_EQ(world.tell(minutes{14}), "");
    EXPECT_EQ(world.tell(seconds{30}), "page escalation +a");
    world.fire("b");
    EXPECT_EQ(world.tell(minutes{6}), "page escalation +a,b; slack update +a,b");
    for (auto& alert : world.alerts) alert.acknowledged = Acknowledgement{"ann", world.now};
    EXPECT_EQ(world.tell(hours{10}), "") << "no repetition, no boss";
    world.fire("c");
    EXPECT_EQ(world.tell(), "slack update +a,b,c");
    EXPECT_EQ(world.tell(minutes{14}), "");
    EXPECT_EQ(world.tell(minutes{1}), "page escalation +a,b,c");
    for (const auto* name : {"a", "b", "c"}) world.resolve(name);
    EXPECT_EQ(world.tell(minutes{5}), "page resolved -a,b,c; slack resolved -a,b,c") << "and the boss hears nothing";
    world.tell(seconds{1});
    EXPECT_TRUE(world.state.groups.empty());
}

TEST(Notifier, WhoWasToldUnderOtherRoutesHearsTheEnd) {
    World world;
    world.fire("a");
    world.turn();
    world.tell(seconds{30});
    world.route.receiver = "email";
    EXPECT_EQ(world.turn(), "");
    EXPECT_EQ(world.tell(seconds{30}), "email first +a");
    world.resolve("a");
    EXPECT_EQ(world.tell(minutes{5}), "email resolved -a; slack resolved -a");
    world.turn();
    EXPECT_TRUE(world.state.groups.empty());
}

TEST(Notifier, WhoWasToldAsTheLastResortHearsTheEndThoughNobodyWouldBeToldNow) {
    World world;
    world.route.escalations = std::vector<Escalation>{{minutes{15}, "page"}};
    world.fire("a");
    world.turn();
    world.tell(seconds{30});
    EXPECT_EQ(world.tell(minutes{15}), "page escalation +a");
    world.route.escalations.reset();
    EXPECT_EQ(world.tell(minutes{1}), "");
    world.resolve("a");
    EXPECT_EQ(world.tell(minutes{5}), "page resolved -a; slack resolved -a");
}

TEST(Notifier, WhatFiresWhileTheEndIsToldIsAnotherIncident) {
    World world;
    world.fire("a");
    world.turn();
    world.tell(seconds{30});
    const auto incident = world.last.send.at(0).incident;
    world.resolve("a");
    EXPECT_EQ(world.turn(minutes{5}), "slack resolved -a");
    world.fire("b");
    const auto end = world.last.send;
    EXPECT_EQ(world.turn(seconds{1}), "");
    EXPECT_TRUE(settle(world.state, end[0], {}, world.now, 0));
    EXPECT_EQ(world.turn(seconds{1}), "") << "and waits for its group anew";
    EXPECT_EQ(world.tell(seconds{30}), "slack first +b");
    EXPECT_NE(world.last.send.at(0).incident, incident);
}

TEST(Notifier, AnAlertThatNobodyConfirmsEndsByItself) {
    World world;
    world.fire("a").ends_at = kNow + minutes{5};
    world.turn();
    world.tell(seconds{30});
    EXPECT_EQ(world.last.wake, kNow + minutes{5});
    EXPECT_EQ(world.tell(minutes{4} + seconds{30}), "");
    EXPECT_EQ(world.tell(seconds{30}), "slack resolved -a");
}

TEST(Notifier, SaysWhichAlertsItStillNeeds) {
    World world;
    const auto fingerprint = world.fire("a").fingerprint();
    world.turn();
    world.turn(seconds{30});
    EXPECT_TRUE(still_needed(world.state).contains(fingerprint));
    world.answer(Kind::delivered);
    EXPECT_TRUE(still_needed(world.state).contains(fingerprint));
    world.resolve("a");
    world.tell(minutes{5});
    EXPECT_TRUE(still_needed(world.state).empty());
}

// What one receiver of one group should hear when everything is delivered at once, second by second, from the words of
// the promises alone.
struct Reference {
    std::set<std::string> told;
    std::optional<TimePoint> began, at;
    Route route;

    std::string second(const std::set<std::string>& visible, const std::set<std::string>& muted_and_over, bool open,
                       const std::set<std::string>& firing, TimePoint now) {
        for (const auto& each : muted_and_over) told.erase(each);
        std::string over;
        for (const auto& each : told)
            if (!firing.contains(each)) over += each;
        std::string fresh;
        std::string all;
        for (const auto& each : visible) {
            all += each;
            if (!told.contains(each)) fresh += each;
        }
        if (told.empty() && visible.empty()) {
            began.reset();
            at.reset();
            return "";
        }
        if (!began) began = now;
        if (all.empty() && over.empty()) return "";
        const bool changed = !fresh.empty() || !over.empty();
        TimePoint due;
        if (!at)
            due = *began + *route.group_wait;
        else if (changed)
            due = *at + *route.group_interval;
        else if (open)
            due = *at + *route.repeat_interval;
        else
            return "";
        if (now < due) return "";
        const std::string kind = all.empty() ? "resolved" : !at ? "first" : changed ? "update" : "repeat";
        at = now;
        for (const char each : over) told.erase(std::string(1, each));
        told.insert(visible.begin(), visible.end());
        if (kind == "resolved") {
            told.clear();
            began.reset();
            at.reset();
        }
        return kind + "+" + all + "-" + over;
    }
};

TEST(Notifier, RandomDaysAreToldAsTheReferenceTellsThem) {
    std::size_t messages = 0;
    for (unsigned seed = 1; seed <= 150; ++seed) {
        std::mt19937 random(seed);
        World world;
        world.route.group_wait = seconds{random() % 3 * 10};
        world.route.group_interval = seconds{20 + random() % 3 * 20};
        world.route.repeat_interval = seconds{120 + random() % 3 * 100};
        Reference reference;
        reference.route = world.route;
        // The letter of each alert's fingerprint.
        std::map<std::string, std::string> letters;
        for (const auto* name : {"a", "b", "c", "d"}) letters[alert_of(name).fingerprint()] = name;
        std::map<std::string, Alert> alerts;
        std::optional<TimePoint> wake = world.now;
        for (int i = 0; i < 1500; ++i) {
            world.now += seconds{1};
            bool happened = false;
            if (random() % 25 == 0) {
                happened = true;
                const std::string name(1, static_cast<char>('a' + random() % 4));
                const auto what = random() % 8;
                const auto known = alerts.find(name);
                const bool fires = known != alerts.end() && known->second.firing(world.now);
                if (what < 3 && !fires) alerts[name] = alert_of(name, "warning", world.now);
                if (what >= 3 && what < 6 && fires) known->second.ends_at = world.now;
                if (what == 6 && fires) known->second.acknowledged = Acknowledgement{"ann", world.now};
                if (what == 7) world.silence(name, seconds{random() % 100 + 1});
            }
            world.alerts.clear();
            for (const auto& [name, alert] : alerts) world.alerts.push_back(alert);

            std::set<std::string> visible, firing, muted_and_over;
            bool open = false;
            for (const auto& alert : world.alerts) {
                const bool muted = silenced_by(world.silences, alert.labels, world.now) != nullptr;
                const bool fires = alert.firing(world.now);
                if (fires) firing.insert(alert.summary);
                if (fires && !muted) visible.insert(alert.summary);
                if (!fires && muted) muted_and_over.insert(alert.summary);
                open = open || (fires && !muted && !alert.acknowledged);
            }
            const auto expected = reference.second(visible, muted_and_over, open, firing, world.now);
            std::string said;
            // It looks only when something has happened or its time has come.
            if (happened || (wake && *wake <= world.now)) {
                world.turn();
                for (const auto& each : world.last.send) {
                    std::string all;
                    std::string over;
                    for (const auto& fingerprint : each.firing) all += letters.at(fingerprint);
                    for (const auto& fingerprint : each.resolved) over += letters.at(fingerprint);
                    std::sort(all.begin(), all.end());
                    std::sort(over.begin(), over.end());
                    said += std::string(name(each.kind)) + "+" + all + "-" + over;
                    ++messages;
                }
                world.answer(Kind::delivered);
                // What was answered is planned upon at once.
                const bool more = !world.last.send.empty();
                if (more) world.turn();
                ASSERT_TRUE(!more || world.last.send.empty()) << "seed " << seed;
                wake = world.last.wake;
            }
            ASSERT_EQ(said, expected) << "seed " << seed << " second " << i;
        }
    }
    EXPECT_GT(messages, 2500U);
}

// Deliveries fail, get lost, are refused; nodes die; receivers are paced; groups, silences, inhibitions, escalations.
TEST(Notifier, RandomTroubleKeepsThePromises) {
    std::size_t sent = 0;
    for (unsigned seed = 1; seed <= 60; ++seed) {
        std::mt19937 random(seed);
        World world;
        world.route.group_by = {"alertname"};
        if (seed % 2 == 0) world.route.group_by = {"group"};
        world.route.group_interval = seconds{30};
        world.route.repeat_interval = minutes{10};
        world.route.escalations = std::vector<Escalation>{{minutes{3}, "page"}};
        auto child = Route{};
        child.receiver = "email";
        child.matchers = {*parse_matcher("alertname=~a|b")};
        child.goes_on = true;
        world.route.children = {child};
        auto rest = Route{};
        rest.matchers = {*parse_matcher("alertname!=x")};
        world.route.children.push_back(rest);
        if (seed % 3 == 0) world.pace["slack"] = seconds{2};
        world.inhibitions = {{{*parse_matcher("alertname=a")}, {*parse_matcher("alertname=~b|c")}, {}}};

        struct OnItsWay {
            Notification notification;
            TimePoint answered_at;
        };
        std::vector<OnItsWay> under_way;
        using Key = std::pair<std::string, std::string>;
        // Of each receiver and incident: told for sure or perhaps, last delivered; and what each id stood for.
        std::map<Key, std::set<std::string>> perhaps;
        std::map<Key, TimePoint> delivered;
        std::map<std::string, Notification> ids;
        std::map<std::string, TimePoint> last_sent;

        const auto visible = [&](const std::string& fingerprint, bool firing) {
            const Alert* latest = nullptr;
            for (const auto& alert : world.alerts)
                if (alert.fingerprint() == fingerprint && (!latest || alert.firing(world.now))) latest = &alert;
            if (!latest || latest->firing(world.now) != firing) return false;
            return !silenced_by(world.silences, latest->labels, world.now) &&
                   !Inhibitor(world.inhibitions, world.alerts, world.now).inhibits(latest->labels);
        };
        const auto check = [&](const Notification& each) {
            const Key key{each.receiver, each.incident};
            for (const auto& fingerprint : each.firing)
                ASSERT_TRUE(visible(fingerprint, true)) << "seed " << seed << ": nothing that is muted or over";
            for (const auto& fingerprint : each.resolved) {
                ASSERT_TRUE(visible(fingerprint, false)) << "seed " << seed;
                ASSERT_TRUE(perhaps[key].contains(fingerprint)) << "seed " << seed << ": of what was told";
            }
            ASSERT_FALSE(each.firing.empty() && each.resolved.empty());
            const auto [known, is_new] = ids.try_emplace(each.id, each);
            if (!is_new) {
                auto before = known->second;
                before.tries = each.tries;
                ASSERT_EQ(before, each) << "seed " << seed << ": one id, one content";
            }
            if (const auto pace = world.pace.find(each.receiver); pace != world.pace.end()) {
                const auto last = last_sent.find(each.receiver);
                ASSERT_TRUE(last == last_sent.end() || world.now - last->second >= pace->second) << seed;
            }
            last_sent[each.receiver] = world.now;
            for (const auto& other : under_way)
                ASSERT_FALSE(other.notification.group == each.group && other.notification.receiver == each.receiver)
                    << "seed " << seed << ": one at a time";
            const auto last = delivered.find(key);
            ASSERT_TRUE(last == delivered.end() || world.now - last->second >= seconds{30}) << "seed " << seed;
        };

        const auto step = [&](bool trouble) {
            for (std::size_t i = 0; i < under_way.size();) {
                if (under_way[i].answered_at > world.now) {
                    ++i;
                    continue;
                }
                const auto each = under_way[i].notification;
                under_way.erase(under_way.begin() + static_cast<std::ptrdiff_t>(i));
                const Key key{each.receiver, each.incident};
                const auto luck = trouble ? random() % 10 : 0;
                const auto kind = luck < 4   ? Kind::delivered
                                  : luck < 7 ? Kind::failed
                                  : luck < 8 ? Kind::unknown
                                  : luck < 9 ? Kind::refused
                                             : Kind::unknown;
                if (kind == Kind::delivered || kind == Kind::unknown)
                    perhaps[key].insert(each.firing.begin(), each.firing.end());
                // Now and then the node died: nobody tells.
                if (luck == 9) continue;
                const bool known = settle(world.state, each, {kind, std::nullopt, "x"}, world.now, 0.5);
                if (known && kind == Kind::delivered) {
                    delivered[key] = world.now;
                    for (const auto& fingerprint : each.resolved) perhaps[key].erase(fingerprint);
                }
            }
            world.turn();
            for (const auto& each : world.last.send) {
                check(each);
                if (::testing::Test::HasFatalFailure()) return;
            }
            sent += world.last.send.size();
            for (const auto& each : world.last.send)
                under_way.push_back({each, world.now + seconds{trouble ? random() % 40 : 1}});
            // A node that takes over right then sends nothing twice.
            ASSERT_TRUE(
                plan({world.alerts, world.route, world.silences, world.inhibitions, world.pace}, world.state, world.now)
                    .send.empty())
                << seed;
        };

        for (int i = 0; i < 400; ++i) {
            world.now += seconds{random() % 20};
            const std::string name(1, static_cast<char>('a' + random() % 4));
            const bool fires = std::any_of(world.alerts.begin(), world.alerts.end(), [&](const Alert& alert) {
                return alert.summary == name && alert.firing(world.now);
            });
            switch (random() % 12) {
                case 0:
                case 1:
                    if (!fires) world.fire(name);
                    break;
                case 2:
                case 3:
                    world.resolve(name);
                    break;
                case 4:
                    world.silence(name, seconds{random() % 300 + 1});
                    break;
                case 5:
                    for (auto& alert : world.alerts)
                        if (alert.summary == name) alert.acknowledged = Acknowledgement{"ann", world.now};
                    break;
                default:
                    break;
            }
            // Those of before are not given for ever.
            const auto needed = still_needed(world.state);
            std::erase_if(world.alerts, [&](const Alert& alert) {
                return !alert.firing(world.now) && !needed.contains(alert.fingerprint());
            });
            step(true);
            ASSERT_FALSE(::testing::Test::HasFatalFailure());
        }
        // All is well again: everybody who should know does, and nobody believes what is over.
        for (int i = 0; i < 300; ++i) {
            world.now += seconds{20};
            step(false);
            ASSERT_FALSE(::testing::Test::HasFatalFailure());
        }
        for (const auto& alert : world.alerts) {
            if (!visible(alert.fingerprint(), true)) continue;
            for (const auto& destination : destinations(world.route, alert.labels)) {
                bool known = false;
                for (const auto& [key, group] : world.state.groups)
                    if (const auto told = group.told.find(destination.receiver); told != group.told.end())
                        known = known || told->second.firing.contains(alert.fingerprint());
                EXPECT_TRUE(known) << "seed " << seed << ": " << alert.summary << " to " << destination.receiver;
            }
        }
        for (const auto& [key, group] : world.state.groups)
            for (const auto& [receiver, told] : group.told) {
                for (const auto& fingerprint : told.perhaps)
                    EXPECT_FALSE(visible(fingerprint, true) || visible(fingerprint, false)) << "seed " << seed;
                for (const auto& fingerprint : told.firing)
                    EXPECT_TRUE(std::any_of(world.alerts.begin(), world.alerts.end(),
                                            [&](const Alert& alert) {
                                                return alert.fingerprint() == fingerprint && alert.firing(world.now);
                                            }))
                        << "seed " << seed;
            }
    }
    EXPECT_GT(sent, 2500U);
}

}
}
