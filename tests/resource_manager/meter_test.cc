// What of a limit is used: against a provider that counts what comes, whenever it comes.
#include "resource_manager/meter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "resource_manager/admission.h"

namespace impresario::resource_manager {
namespace meter_test {

using domain::Duration;
using domain::TimePoint;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

const TimePoint kNow{hours{500000}};

ProviderLimit limit(WindowKind kind, std::int64_t most, Duration per, std::int64_t burst = 1) {
    ProviderLimit made;
    made.name = "l";
    made.kind = kind;
    made.limit = most;
    made.per = per;
    made.burst = burst;
    return made;
}

domain::Demand asking(std::int64_t calls, bool starving = false) {
    domain::Demand demand;
    demand.needs = {{"gemini", calls}};
    demand.starving = starving;
    return demand;
}

TEST(Meter, ASlidingWindowCountsFromTheGrantUntilTheWindowAfterTheEnd) {
    Meter meter(limit(WindowKind::sliding_window, 2, minutes{1}));
    meter.charge(2);
    EXPECT_EQ(meter.used(kNow), 2);
    EXPECT_FALSE(meter.fits_at(1, kNow)) << "it depends on what is under way";
    // Granted at 0 s, there at 2 s: it still counts at 61 s (R19).
    meter.end(2, kNow + seconds{2});
    EXPECT_EQ(meter.used(kNow + seconds{61}), 2);
    const auto fits = meter.fits_at(1, kNow + seconds{3});
    ASSERT_TRUE(fits);
    EXPECT_GE(*fits, kNow + seconds{62});
    EXPECT_LE(*fits, kNow + seconds{62} + Duration{minutes{1}} / 256);
    EXPECT_EQ(meter.used(*fits), 0);
    EXPECT_FALSE(meter.fits_at(3, kNow)) << "more than it ever gives";
}

TEST(Meter, WhatWasNotSentDoesNotCount) {
    Meter meter(limit(WindowKind::sliding_window, 2, minutes{1}));
    meter.charge(2);
    meter.give_back(2);
    EXPECT_EQ(meter.used(kNow), 0);
    EXPECT_EQ(meter.fits_at(2, kNow), kNow);
}

TEST(Meter, AFixedWindowTurnsAtItsResetAndARequestUnderWayCountsInBoth) {
    auto daily = limit(WindowKind::fixed_window, 10, hours{24});
    daily.reset_at = hours{7};
    Meter meter(daily);
    const TimePoint before = TimePoint{hours{24} * 20000} + hours{6} + minutes{59};
    meter.charge(3);
    meter.charge(4);
    meter.end(3, before);
    EXPECT_EQ(meter.used(before + seconds{1}), 7);
    EXPECT_EQ(meter.fits_at(5, before), before + minutes{1});
    EXPECT_EQ(meter.used(before + minutes{1}), 4) << "what has not ended yet may count in the new window";
    meter.end(4, before + minutes{2});
    EXPECT_EQ(meter.used(before + hours{23}), 4);
    EXPECT_EQ(meter.used(before + hours{24} + minutes{1}), 0);
}

TEST(Meter, ATokenBucketRefillsFromTheEndOfTheRequest) {
    Meter meter(limit(WindowKind::token_bucket, 60, minutes{1}, 5));
    meter.charge(5);
    EXPECT_FALSE(meter.fits_at(1, kNow + hours{1})) << "nothing is refilled while it is under way";
    meter.end(5, kNow);
    EXPECT_EQ(meter.used(kNow), 5);
    EXPECT_EQ(meter.fits_at(1, kNow), kNow + seconds{1});
    EXPECT_EQ(meter.fits_at(5, kNow), kNow + seconds{5});
    meter.trim(kNow + milliseconds{2500});
    EXPECT_EQ(meter.used(kNow + milliseconds{2500}), 3);
    EXPECT_EQ(meter.used(kNow + seconds{9}), 0);
}

TEST(Meter, WhatWillHaveEndedLaterCountsInFullUntilThen) {
    for (const auto kind : {WindowKind::sliding_window, WindowKind::token_bucket}) {
        Meter meter(limit(kind, 4, seconds{4}, 4));
        meter.charge(4);
        meter.end(4, kNow + seconds{10});
        EXPECT_EQ(meter.used(kNow), 4);
        EXPECT_EQ(meter.used(kNow + seconds{10}), 4);
        const auto fits = meter.fits_at(1, kNow);
        ASSERT_TRUE(fits);
        EXPECT_GE(*fits, kNow + seconds{11});
        EXPECT_EQ(meter.used(*fits) <= 3, true);
    }
}

/// Requests travel for a while and their ends are heard later still; whatever the provider's window, it never sees more
/// than the limit, and gets nearly all of it.
TEST(Meter, TheProviderNeverSeesMoreThanItsLimitAndNearlyAllOfIt) {
    for (std::uint32_t seed = 1; seed <= 60; ++seed) {
        std::mt19937 dice(seed);
        const auto kind = static_cast<WindowKind>(seed % 3);
        const std::int64_t most = 1 + dice() % 30;
        Meter meter(limit(kind, most, seconds{10}, 1 + dice() % 30));
        struct Event {
            TimePoint at;
            std::int64_t amount;
        };
        std::vector<Event> arrivals;
        std::vector<Event> ends;
        std::int64_t total = 0;
        TimePoint now = kNow;
        const TimePoint last = kNow + minutes{10};
        while (now < last) {
            std::sort(ends.begin(), ends.end(), [](const Event& a, const Event& b) { return a.at > b.at; });
            while (!ends.empty() && ends.back().at <= now) {
                meter.end(ends.back().amount, ends.back().at);
                ends.pop_back();
            }
            const auto amount =
                1 + static_cast<std::int64_t>(dice()) % std::min<std::int64_t>(3, meter.limit().capacity());
            const auto fits = meter.fits_at(amount, now);
            if (fits == now) {
                meter.charge(amount);
                const auto there = now + milliseconds{dice() % 30};
                arrivals.push_back({there, amount});
                ends.push_back({there + milliseconds{dice() % 30}, amount});
                total += amount;
            }
            meter.trim(now);
            now += milliseconds{1 + dice() % 40};
        }
        std::sort(arrivals.begin(), arrivals.end(), [](const Event& a, const Event& b) { return a.at < b.at; });
        for (std::size_t i = 0; i < arrivals.size(); ++i) {
            std::int64_t seen = 0;
            for (std::size_t j = i; j < arrivals.size(); ++j) {
                seen += arrivals[j].amount;
                const Duration since = arrivals[j].at - arrivals[i].at;
                if (kind == WindowKind::sliding_window) {
                    if (since >= seconds{10}) break;
                    ASSERT_LE(seen, most) << "seed " << seed;
                } else if (kind == WindowKind::fixed_window) {
                    if (arrivals[j].at.time_since_epoch() / seconds{10} !=
                        arrivals[i].at.time_since_epoch() / seconds{10})
                        break;
                    ASSERT_LE(seen, most) << "seed " << seed;
                } else {
                    const double allowed = static_cast<double>(meter.limit().burst) +
                                           static_cast<double>(since.count()) * static_cast<double>(most) / 1e7;
                    ASSERT_LE(static_cast<double>(seen), allowed + 1e-6) << "seed " << seed;
                    if (since > minutes{1}) break;
                }
            }
        }
        // Amounts of up to three leave a little of each window.
        const double possible = static_cast<double>(most) * 60;
        EXPECT_GE(static_cast<double>(total) / possible, most >= 20 && meter.limit().burst > 6 ? 0.85 : 0.2)
            << "seed " << seed;
    }
}

TEST(ProviderRate, ClosesItsLaneWithTheNumbersAndWhenItOpens) {
    Meter meter(limit(WindowKind::sliding_window, 2, minutes{1}));
    meter.remember(2, kNow);
    Admission admission;
    const std::vector<std::size_t> named{admission.add(ProviderRate{"gemini", &meter})};
    EXPECT_FALSE(admission.closed({}, named, kNow)) << "who asks nothing is not stopped";
    const auto closed = admission.closed(asking(1), named, kNow + seconds{1});
    ASSERT_TRUE(closed);
    EXPECT_EQ(closed->kind, domain::GateKind::provider);
    EXPECT_EQ(closed->subject, "gemini l");
    EXPECT_TRUE(closed->opens_at);
    EXPECT_NE(closed->detail.find("2 of 2 requests per minute are used and 1 more asked"), std::string::npos)
        << closed->detail;
}

TEST(ProviderRate, WhatIsNotUnderstoodSaysWhatToDo) {
    ProviderLimit none;
    none.of = Measure::concurrency;
    none.limit = 0;
    Meter meter(none);
    Admission admission;
    const std::vector<std::size_t> named{admission.add(ProviderRate{"gemini", &meter})};
    const auto closed = admission.closed(asking(1), named, kNow);
    ASSERT_TRUE(closed);
    EXPECT_NE(closed->detail.find("upgrade this node"), std::string::npos) << closed->detail;
    EXPECT_FALSE(closed->opens_at);
}

TEST(ProviderRate, ATurnGrantsNoMoreThanFits) {
    Meter meter(limit(WindowKind::sliding_window, 5, minutes{1}));
    Admission admission;
    const std::vector<std::size_t> named{admission.add(ProviderRate{"gemini", &meter})};
    int granted = 0;
    for (int i = 0; i < 10; ++i)
        granted += std::holds_alternative<Granted>(admission.admit(asking(2), named, kNow)) ? 1 : 0;
    EXPECT_EQ(granted, 2);
}

TEST(ProviderRate, WhatOneThatStarvesLacksIsKeptForIt) {
    Meter meter(limit(WindowKind::sliding_window, 5, minutes{1}));
    meter.remember(2, kNow);
    Admission admission;
    const std::vector<std::size_t> named{admission.add(ProviderRate{"gemini", &meter})};
    EXPECT_TRUE(std::holds_alternative<Deferred>(admission.admit(asking(4, true), named, kNow)));
    EXPECT_TRUE(std::holds_alternative<Deferred>(admission.admit(asking(1), named, kNow)))
        << "the small ones would drain what the large one waits for";
}

}
}
