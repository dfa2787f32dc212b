// A provider with a hidden limit that moves, and how it is treated: simulated time, many seeds.
#include "resource_manager/provider_weather.h"

#include <gtest/gtest.h>

#include <deque>
#include <queue>
#include <random>

namespace impresario::resource_manager {
namespace provider_weather_test {

using domain::Duration;
using domain::TimePoint;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

const TimePoint kNow{hours{500000}};

/// Takes so many in a window, as it likes to count, and refuses the others with the time at which one more fits.
class HiddenLimit {
  public:
    HiddenLimit(WindowKind kind, std::int64_t limit, Duration per, bool whole_seconds)
        : kind_(kind), limit_(limit), per_(per), whole_seconds_(whole_seconds), tokens_(burst()) {}

    /// nullopt: taken; else when to come again.
    std::optional<Duration> ask(TimePoint now) {
        drop(now);
        if (kind_ == WindowKind::token_bucket) {
            if (tokens_ >= 1) {
                tokens_ -= 1;
                return std::nullopt;
            }
            return shown(Duration{static_cast<std::int64_t>((1 - tokens_) * gap())});
        }
        if (static_cast<std::int64_t>(taken_.size()) < limit_) {
            taken_.push_back(now);
            return std::nullopt;
        }
        if (kind_ == WindowKind::fixed_window) return shown(start(now) + per_ - now);
        return shown(taken_[taken_.size() - static_cast<std::size_t>(limit_)] + per_ - now);
    }
    void move(std::int64_t limit, TimePoint now) {
        drop(now);
        limit_ = limit;
        tokens_ = std::min(tokens_, burst());
    }
    std::int64_t limit() const { return limit_; }

  private:
    double gap() const { return static_cast<double>(per_.count()) / static_cast<double>(limit_); }
    double burst() const { return std::max(1.0, static_cast<double>(limit_) / 6); }
    TimePoint start(TimePoint now) const { return TimePoint{now.time_since_epoch() / per_ * per_}; }
    Duration shown(Duration wait) const {
        if (!whole_seconds_) return wait;
        return std::max<Duration>(seconds{1}, std::chrono::ceil<seconds>(wait));
    }
    void drop(TimePoint now) {
        if (kind_ == WindowKind::token_bucket) {
            tokens_ = std::min(burst(), tokens_ + static_cast<double>((now - at_).count()) / gap());
            at_ = now;
            return;
        }
        const auto from = kind_ == WindowKind::fixed_window ? start(now) : now - per_ + Duration{1};
        while (!taken_.empty() && taken_.front() < from) taken_.pop_front();
    }

    WindowKind kind_;
    std::int64_t limit_;
    Duration per_;
    bool whole_seconds_;
    std::deque<TimePoint> taken_;
    double tokens_;
    TimePoint at_ = kNow;
};

struct Story {
    WindowKind kind = WindowKind::sliding_window;
    Duration per = minutes{1};
    std::int64_t first = 40;
    bool whole_seconds = true;
    int most_in_flight = 8;
    unsigned seed = 1;
    /// When and to what it moves.
    std::vector<std::pair<Duration, std::int64_t>> moves = {};
    Duration length = hours{2};
    std::int64_t declared = 1000;
};

struct Told {
    struct Refusal {
        TimePoint at;
        int in_flight = 0;
    };
    std::vector<Refusal> refused;
    std::vector<TimePoint> taken;
    std::int64_t within(TimePoint from, TimePoint until) const {
        return std::count_if(taken.begin(), taken.end(), [&](TimePoint at) { return at >= from && at < until; });
    }
    std::int64_t refused_within(TimePoint from, TimePoint until) const {
        return std::count_if(refused.begin(), refused.end(),
                             [&](const Refusal& each) { return each.at >= from && each.at < until; });
    }
};

/// There is always more to do.
Told tell(const Story& story) {
    std::mt19937 random(story.seed);
    const auto way = [&] { return Duration{std::uniform_int_distribution<int>(2000, 60000)(random)}; };
    HiddenLimit provider(story.kind, story.first, story.per, story.whole_seconds);
    ProviderWeather weather(story.per, story.declared);
    struct Request {
        TimePoint at;
        TimePoint began;
        enum class Step { arrives, taken, refused } step;
        Duration wait{0};
        bool operator>(const Request& other) const { return at > other.at; }
    };
    std::priority_queue<Request, std::vector<Request>, std::greater<>> coming;
    Told told;
    const domain::Need one{"p", 1, 0, 0, {}};
    auto moves = story.moves;
    int in_flight = 0;
    for (TimePoint now = kNow; now < kNow + story.length;) {
        while (!moves.empty() && kNow + moves.front().first <= now) {
            provider.move(moves.front().second, now);
            moves.erase(moves.begin());
        }
        while (!coming.empty() && coming.top().at <= now) {
            auto request = coming.top();
            coming.pop();
            if (request.step == Request::Step::arrives) {
                const auto wait = provider.ask(now);
                if (wait) told.refused.push_back({now, in_flight});
                if (!wait) told.taken.push_back(now);
                request.step = wait ? Request::Step::refused : Request::Step::taken;
                request.wait = wait.value_or(Duration{0});
                request.at = now + way();
                coming.push(request);
                continue;
            }
            --in_flight;
            if (request.step == Request::Step::refused) {
                ProviderNews news;
                news.retry_after = request.wait;
                news.requests = 1;
                news.began = request.began;
                weather.hear(news, now);
                weather.end(one, now);
            } else {
                weather.end(one, now);
                weather.went_well(1, request.began, now);
            }
        }
        weather.passed(now);
        weather.trim(now);
        for (;;) {
            if (in_flight >= story.most_in_flight || weather.cooling(now)) break;
            if (weather.probed(now) && weather.in_flight() > 0) break;
            const auto fits = weather.fits_at(1, 0, now);
            if (!fits || *fits > now) break;
            weather.charge(one, now);
            ++in_flight;
            coming.push({now + way(), now, Request::Step::arrives});
        }
        now += milliseconds{10};
    }
    return told;
}

ProviderNews refusal(Duration wait, TimePoint began) {
    ProviderNews news;
    news.retry_after = wait;
    news.requests = 1;
    news.began = began;
    news.detail = "status 429";
    return news;
}

ProviderNews left(std::int64_t remaining, std::optional<TimePoint> reset_at, TimePoint began = kNow) {
    ProviderNews news;
    news.remaining = remaining;
    news.reset_at = reset_at;
    news.began = began;
    return news;
}

const domain::Need kOne{"p", 1, 10, 0, {}};

TEST(ProviderWeather, ARefusalStopsEverythingThenOneTriesIt) {
    ProviderWeather weather(minutes{1}, std::nullopt);
    for (int i = 0; i < 20; ++i) {
        weather.charge(kOne, kNow);
        weather.end(kOne, kNow);
        weather.went_well(1, kNow, kNow);
    }
    EXPECT_FALSE(weather.allowed(kNow));
    weather.charge(kOne, kNow);
    EXPECT_TRUE(weather.hear(refusal(seconds{30}, kNow), kNow));
    weather.end(kOne, kNow);
    EXPECT_TRUE(weather.cooling(kNow + seconds{29}));
    EXPECT_EQ(weather.record().why, "status 429");
    EXPECT_EQ(weather.allowed(kNow), 20);
    const auto again = kNow + seconds{30};
    EXPECT_TRUE(weather.probed(again));
    weather.charge(kOne, again);
    EXPECT_EQ(weather.in_flight(), 1);
    weather.end(kOne, again);
    EXPECT_TRUE(weather.went_well(1, again, again));
    EXPECT_FALSE(weather.probed(again));
    EXPECT_EQ(weather.allowed(again), 20);
}

TEST(ProviderWeather, ThoseUnderWayTogetherAreOneRefusal) {
    ProviderWeather weather(minutes{1}, std::nullopt);
    for (int i = 0; i < 20; ++i) weather.charge(kOne, kNow);
    for (int i = 0; i < 12; ++i) weather.end(kOne, kNow);
    const auto later = kNow + seconds{1};
    EXPECT_TRUE(weather.hear(refusal(seconds{5}, kNow), later));
    weather.end(kOne, later);
    EXPECT_EQ(weather.allowed(later), 12);
    for (int i = 0; i < 4; ++i) {
        EXPECT_FALSE(weather.hear(refusal(seconds{5}, kNow), later));
        weather.end(kOne, later);
    }
    EXPECT_EQ(weather.allowed(later), 12);
    // It had been taken before the refusal, and is only heard of now.
    weather.end(kOne, later);
    weather.went_well(1, kNow, later);
    EXPECT_EQ(weather.allowed(later), 13);
    EXPECT_TRUE(weather.hear(refusal(seconds{50}, kNow), later)) << "the longest patience counts";
    EXPECT_EQ(weather.record().cooling_until, later + seconds{50});
}

TEST(ProviderWeather, WhatWasGrantedBeforeAndSentAfterTheRefusalBelongsToIt) {
    ProviderWeather weather(minutes{1}, std::nullopt);
    for (int i = 0; i < 80; ++i) {
        weather.charge(kOne, kNow);
        if (i < 76) weather.end(kOne, kNow);
    }
    weather.hear(refusal(seconds{60}, kNow), kNow);
    for (int i = 1; i < 4; ++i) weather.hear(refusal(seconds{60}, kNow + milliseconds{i}), kNow + milliseconds{5 * i});
    EXPECT_EQ(weather.allowed(kNow + seconds{1}), 76);
}

TEST(ProviderWeather, RefusalsThatComeWithTheResultAreTakenOff) {
    ProviderWeather weather(minutes{1}, std::nullopt);
    for (int i = 0; i < 20; ++i) {
        weather.charge(kOne, kNow);
        weather.end(kOne, kNow);
        weather.went_well(1, kNow, kNow);
    }
    auto news = refusal(seconds{5}, kNow);
    news.was_taken = true;
    for (int i = 0; i < 8; ++i) weather.hear(news, kNow + seconds{1});
    EXPECT_EQ(weather.allowed(kNow + seconds{1}), 12);
}

TEST(ProviderWeather, WhatIsSaidToBeLeftHoldsUntilItsReset) {
    ProviderWeather weather(minutes{1}, std::nullopt);
    weather.charge(kOne, kNow);
    const auto reset = kNow + seconds{40};
    EXPECT_TRUE(weather.hear(left(3, reset), kNow));
    EXPECT_EQ(weather.left(kNow), 2) << "one is under way and may not have been counted";
    weather.charge(kOne, kNow);
    EXPECT_EQ(weather.left(kNow), 1);
    EXPECT_FALSE(weather.hear(left(9, reset, kNow - seconds{1}), kNow)) << "it began before and says more";
    EXPECT_EQ(weather.left(kNow), 1);
    EXPECT_FALSE(weather.left(reset));
    EXPECT_TRUE(weather.passed(reset));
    EXPECT_FALSE(weather.hear(left(0, kNow - hours{1}), kNow)) << "it has been reset already";
    EXPECT_TRUE(weather.hear(left(0, kNow + hours{24 * 4000}), kNow));
    EXPECT_FALSE(weather.left(kNow + hours{24})) << "nobody waits for decades";
    EXPECT_TRUE(weather.left(kNow + hours{24} - seconds{1}));
    auto tokens = left(100, reset, kNow + seconds{1});
    tokens.of = Measure::tokens;
    EXPECT_TRUE(weather.hear(tokens, kNow + seconds{1}));
    weather.charge(kOne, kNow + seconds{1});
    EXPECT_EQ(weather.left(kNow + seconds{1}), 90);
}

TEST(ProviderWeather, PatienceIsBetweenASecondAndADay) {
    ProviderWeather weather(minutes{1}, std::nullopt);
    weather.hear(refusal(Duration{0}, kNow), kNow);
    EXPECT_EQ(weather.record().cooling_until, kNow + seconds{1});
    weather.hear(refusal(hours{24 * 365}, kNow + seconds{1}), kNow + seconds{1});
    EXPECT_EQ(weather.record().cooling_until, kNow + seconds{1} + hours{24});
}

TEST(ProviderWeather, ADayWithoutARefusalIsFairWeather) {
    ProviderWeather weather(minutes{1}, 60);
    weather.hear(refusal(seconds{1}, kNow), kNow);
    EXPECT_EQ(weather.allowed(kNow), 30) << "half of what is declared, where nothing has gone well yet";
    weather.went_well(1, kNow + seconds{2}, kNow + seconds{2});
    EXPECT_FALSE(weather.passed(kNow + hours{23}));
    EXPECT_TRUE(weather.passed(kNow + hours{24}));
    EXPECT_FALSE(weather.allowed(kNow + hours{24}));
    EXPECT_FALSE(weather.record().since);
}

TEST(ProviderWeather, WhatAsksSeveralAtOnceLetsItGrowToo) {
    ProviderWeather weather(minutes{1}, std::nullopt);
    weather.hear(refusal(seconds{1}, kNow), kNow);
    const domain::Need five{"p", 5, 0, 0, {}};
    auto now = kNow + seconds{2};
    for (; now < kNow + minutes{30}; now += seconds{1}) {
        const auto fits = weather.fits_at(5, 0, now);
        if (!fits || *fits > now) continue;
        weather.charge(five, now);
        weather.end(five, now);
        weather.went_well(5, now, now);
    }
    EXPECT_GT(weather.allowed(now), 100);
}

TEST(ProviderWeather, OneThatAsksMoreThanEverFitsStillGoes) {
    ProviderWeather weather(minutes{1}, std::nullopt);
    weather.hear(refusal(seconds{1}, kNow), kNow);
    EXPECT_EQ(weather.allowed(kNow), 1);
    const auto later = kNow + seconds{2};
    EXPECT_EQ(weather.fits_at(50, 0, later), later);
}

std::string shown(const Story& story) {
    std::string text =
        std::string(name(story.kind)) + " seed " + std::to_string(story.seed) + " from " + std::to_string(story.first);
    for (const auto& [at, limit] : story.moves) text += ", " + std::to_string(limit) + " after " + domain::human(at);
    return text;
}

/// So many windows after each move it is known again.
constexpr int kSettles = 16;
constexpr int kBetweenMoves = 60;

TEST(ProviderWeather, AHiddenLimitThatMovesIsFoundAndKept) {
    double least = 1;
    std::int64_t most_after = 0;
    std::int64_t tries = 0;
    std::int64_t quiet_windows = 0;
    for (const auto kind : {WindowKind::sliding_window, WindowKind::fixed_window, WindowKind::token_bucket})
        for (unsigned seed = 1; seed <= 12; ++seed) {
            std::mt19937 random(seed);
            Story story;
            story.kind = kind;
            story.seed = seed;
            story.whole_seconds = seed % 2 == 0;
            story.per = seconds{seed % 3 == 0 ? 20 : 60};
            // Of a limit below 20 one request alone is more than 5 %.
            const auto draw = [&] { return std::uniform_int_distribution<std::int64_t>(30, 200)(random); };
            story.first = draw();
            for (int i = 1; i <= 4; ++i) story.moves.emplace_back(story.per * kBetweenMoves * i, draw());
            story.length = story.per * kBetweenMoves * 5;
            SCOPED_TRACE(shown(story));
            const auto told = tell(story);

            auto limit = story.first;
            for (int part = 0; part <= 4; ++part) {
                const auto begins = kNow + story.per * kBetweenMoves * part;
                const auto settled = begins + story.per * kSettles;
                const auto ends = begins + story.per * kBetweenMoves;
                const auto before = part == 0 ? 0 : limit;
                if (part > 0) limit = story.moves[static_cast<std::size_t>(part) - 1].second;

                // As soon as it refuses, no more than were under way are refused.
                const auto after_first = told.refused_within(begins, begins + story.per * 3) - 1;
                if (part == 0 || limit < before) {
                    EXPECT_LE(after_first, story.most_in_flight) << "at move " << part;
                    most_after = std::max(most_after, after_first);
                }
                const double rate = static_cast<double>(told.within(settled, ends)) /
                                    (static_cast<double>(limit) * (kBetweenMoves - kSettles));
                EXPECT_GT(rate, 0.95) << "after move " << part;
                least = std::min(least, rate);
                // Then only tries of a little more are refused.
                const auto tried = told.refused_within(settled, ends);
                EXPECT_LE(tried, (kBetweenMoves - kSettles) / 2) << "after move " << part;
                tries += tried;
                quiet_windows += kBetweenMoves - kSettles;
            }
        }
    std::printf(
        "after the first refusal at most %ld more (8 under way), then at least %.1f %% of the true rate and one "
        "refusal in %.1f windows\n",
        static_cast<long>(most_after), least * 100, static_cast<double>(quiet_windows) / static_cast<double>(tries));
}

}
}
