// What a change of a provider's limits does to who waits.
#include <gtest/gtest.h>

#include "domain/limit_keys.h"
#include "resource_manager/provider_preview.h"

namespace impresario::resource_manager {
namespace provider_preview_test {

using std::chrono::seconds;

const domain::TimePoint kNow{seconds{1'800'000'000}};
const domain::Lane kLane{"default", "calls"};

Provider limited(std::int64_t requests, domain::Duration per = seconds{60},
                 WindowKind kind = WindowKind::sliding_window) {
    ProviderLimit limit;
    limit.name = "rate";
    limit.limit = requests;
    limit.per = per;
    limit.kind = kind;
    limit.burst = requests;
    return {"gemini", {limit}, 1, kNow, {}, {}};
}

domain::Need need(std::int64_t calls) {
    domain::Need need;
    need.provider = "gemini";
    need.calls = calls;
    return need;
}

WaitingLane waiting(std::int64_t count, std::int64_t calls = 1) {
    WaitingLane lane{kLane, count, {}};
    lane.price.needs = {need(calls)};
    return lane;
}

/// That many calls were made just now.
std::vector<LoadedPermit> used(std::int64_t calls) {
    LoadedPermit permit;
    permit.lane = kLane;
    permit.need = need(calls);
    permit.ended_at = kNow;
    return {permit};
}

TEST(ProviderPreview, MoreIsAllowedThen) {
    const auto before = limited(10);
    const auto after = limited(50);
    const auto lines = preview(&before, &after, used(10), {waiting(100)}, kNow);
    ASSERT_EQ(lines.size(), 1U);
    ASSERT_TRUE(lines[0].before.gate);
    EXPECT_EQ(lines[0].before.gate->kind, domain::GateKind::provider);
    EXPECT_EQ(lines[0].before.fit, 0);
    EXPECT_EQ(lines[0].before.last_in, seconds{600});
    EXPECT_FALSE(lines[0].after.gate);
    EXPECT_EQ(lines[0].after.fit, 40);
    EXPECT_EQ(lines[0].after.last_in, seconds{120}) << "60 after those 40, 50 of them in each minute";
}

TEST(ProviderPreview, OneThatIsNewOrGoneLimitsNothing) {
    const auto some = limited(10);
    const auto made = preview(nullptr, &some, {}, {waiting(25)}, kNow);
    EXPECT_EQ(made[0].before.fit, 25);
    EXPECT_EQ(made[0].before.last_in, seconds{0});
    EXPECT_EQ(made[0].after.fit, 10);
    const auto gone = preview(&some, nullptr, used(10), {waiting(25)}, kNow);
    EXPECT_EQ(gone[0].before.fit, 0);
    EXPECT_EQ(gone[0].after.fit, 25);
}

/// Ten a minute, of which each customer may have four.
Provider shared_by_customer() {
    auto provider = limited(10);
    provider.limits[0].key = "/customer";
    provider.limits[0].ceiling = 4;
    return provider;
}

std::string customer(const std::string& name) { return domain::limit_keys_text({{"/customer", name}}); }

TEST(ProviderPreview, EachKeyHasItsCeiling) {
    const auto before = limited(10);
    const auto after = shared_by_customer();
    auto lane = waiting(9);
    lane.keys = {{customer("flood"), 8}, {customer("small"), 1}};
    const auto line = preview(&before, &after, {}, {lane}, kNow).at(0);
    EXPECT_EQ(line.before.fit, 9);
    EXPECT_EQ(line.after.fit, 5) << "four of the one, one of the other";
    EXPECT_EQ(line.after.last_in, seconds{60}) << "its other four";
    EXPECT_FALSE(line.after.gate);

    auto permits = used(4);
    permits[0].limit_keys = customer("flood");
    lane = waiting(8);
    lane.keys = {{customer("flood"), 8}};
    const auto full = preview(&before, &after, permits, {lane}, kNow).at(0);
    EXPECT_EQ(full.before.fit, 6);
    EXPECT_EQ(full.after.fit, 0);
    ASSERT_TRUE(full.after.gate);
    EXPECT_EQ(full.after.gate->kind, domain::GateKind::key_limit);
    EXPECT_EQ(full.after.gate->subject, "gemini rate flood");
}

TEST(ProviderPreview, AKeyThatNobodyTookIsOneAccount) {
    const auto before = limited(10);
    const auto after = shared_by_customer();
    auto lane = waiting(6);
    lane.keys = {{customer("x"), 3}, {"", 3}};
    EXPECT_EQ(preview(&before, &after, {}, {lane}, kNow).at(0).after.fit, 6);
    lane.keys = {{domain::limit_keys_text({{"/domain", "x"}}), 3}, {domain::limit_keys_text({{"/domain", "y"}}), 3}};
    EXPECT_EQ(preview(&before, &after, {}, {lane}, kNow).at(0).after.fit, 4)
        << "they were enqueued before a limit asked for this key";
    lane.keys.clear();
    EXPECT_EQ(preview(&before, &after, {}, {lane}, kNow).at(0).after.fit, 6) << "nobody knows their keys";
}

TEST(ProviderPreview, WhoDoesNotCallItIsNotConcerned) {
    const auto some = limited(10);
    auto other = waiting(5);
    other.price.needs[0].provider = "openai";
    EXPECT_TRUE(preview(&some, nullptr, {}, {other}, kNow).empty());
}

TEST(ProviderPreview, WhatNeverFitsIsSaidSo) {
    const auto before = limited(10);
    const auto after = limited(4);
    const auto line = preview(&before, &after, {}, {waiting(3, 5)}, kNow).at(0);
    EXPECT_EQ(line.before.fit, 2);
    EXPECT_EQ(line.before.last_in, seconds{60});
    ASSERT_TRUE(line.after.gate);
    EXPECT_NE(line.after.gate->detail.find("raise the limit"), std::string::npos) << line.after.gate->detail;
    EXPECT_EQ(line.after.fit, 0);
    EXPECT_FALSE(line.after.last_in);
}

TEST(ProviderPreview, AWindowThatDoesNotDivideLetsFewerThrough) {
    // Of 10 in a minute only three of 3 each: 12 take four windows, of which the first is free.
    const auto some = limited(10);
    EXPECT_EQ(preview(nullptr, &some, {}, {waiting(12, 3)}, kNow)[0].after.last_in, seconds{180});
}

TEST(ProviderPreview, ABucketLetsThemThroughOneByOne) {
    const auto bucket = limited(10, seconds{60}, WindowKind::token_bucket);
    EXPECT_EQ(preview(nullptr, &bucket, {}, {waiting(15)}, kNow)[0].after.last_in, seconds{30});
}

TEST(ProviderPreview, HowLongSlotsAreHeldNobodyKnows) {
    auto slots = limited(2);
    slots.limits[0].of = Measure::concurrency;
    const auto line = preview(nullptr, &slots, {}, {waiting(3)}, kNow).at(0);
    EXPECT_EQ(line.after.fit, 2);
    EXPECT_FALSE(line.after.last_in);
}

}
}
