#include "resource_manager/provider_weather.h"

#include <algorithm>
#include <array>
#include <limits>

namespace impresario::resource_manager {

using domain::Duration;
using domain::TimePoint;

namespace {
/// What a try that fails costs is its wait: tries are so rare that it costs little.
constexpr int kWaitsBetweenTries = 40;
constexpr int kWaitsAfterALeap = 10;
constexpr int kWindowsBetweenTries = 4;
/// Of what went well, after so many refusals close together.
constexpr std::array<double, 4> kShrink{0.9, 0.8, 0.6, 0.5};
/// Requests are spread a little closer than the window says, so that the count decides in the long run.
constexpr double kSpread = 0.98;
/// Later by so much they may catch up: a turn is not always on time.
constexpr Duration kSlack = std::chrono::milliseconds{250};
/// Between two clocks.
constexpr Duration kApart = std::chrono::milliseconds{50};

ProviderLimit counting(Duration window) {
    ProviderLimit limit;
    limit.limit = std::numeric_limits<std::int64_t>::max() / 4;
    limit.per = window;
    return limit;
}
}

ProviderWeather::ProviderWeather(Duration window, std::optional<std::int64_t> declared)
    : declared_(declared), sent_(counting(window)) {}

Duration ProviderWeather::gap(TimePoint now) const {
    const auto most = allowed(now);
    if (!most) return Duration{0};
    return Duration{
        static_cast<std::int64_t>(kSpread * static_cast<double>(window().count()) / static_cast<double>(*most))};
}

Duration ProviderWeather::slack(Duration gap) const { return std::max(gap, kSlack); }

void ProviderWeather::remember(WeatherRecord record) {
    record_ = std::move(record);
    shaped_until_ = record_.cooling_until.value_or(record_.refused_at.value_or(TimePoint{}));
    spent_ = well_since_ = 0;
    strikes_ = 0;
    step_ = 1;
    tried_at_.reset();
    filled_at_.reset();
    counted_ = false;
    next_at_ = {};
}

void ProviderWeather::charge(const domain::Need& need, TimePoint now) {
    const auto count = requests(need);
    sent_.charge(count);
    if (record_.quota && now >= record_.quota->said)
        spent_ += record_.quota->of == Measure::tokens ? need.tokens : count;
    if (const auto most = allowed(now); most && *most > *record_.learnt) {
        const auto used = sent_.used(now);
        if (!tried_at_ && used > *record_.learnt) tried_at_ = now;
        // Or no other like this one would fit.
        if (!filled_at_ && used + count > *most) filled_at_ = now;
    }
    const auto apart = gap(now);
    next_at_ = std::max(next_at_, now - slack(apart)) + apart * count;
}

void ProviderWeather::end(const domain::Need& need, TimePoint at) { sent_.end(requests(need), at); }

void ProviderWeather::give_back(const domain::Need& need) {
    sent_.give_back(requests(need));
    if (record_.quota)
        spent_ =
            std::max<std::int64_t>(0, spent_ - (record_.quota->of == Measure::tokens ? need.tokens : requests(need)));
}

std::optional<std::int64_t> ProviderWeather::left(TimePoint now) const {
    if (!record_.quota || record_.quota->until <= now) return std::nullopt;
    return std::max<std::int64_t>(0, record_.quota->left - spent_);
}

std::optional<std::int64_t> ProviderWeather::allowed(TimePoint now) const {
    if (!record_.learnt) return std::nullopt;
    const bool more = record_.grows_at && *record_.grows_at <= now;
    return *record_.learnt + (more ? step_ : 0);
}

std::optional<TimePoint> ProviderWeather::fits_at(std::int64_t requests, std::int64_t taken, TimePoint now) const {
    const auto most = allowed(now);
    if (!most) return now;
    // One that asks more than there ever is goes when nothing else does.
    const auto room = std::max<std::int64_t>(0, *most - std::min(requests, *most));
    auto counted = sent_.fits_at(sent_.limit().limit - room + taken, now);
    if (!counted) return std::nullopt;
    const auto apart = gap(now);
    return std::max(*counted, std::max(next_at_ - slack(apart), now - slack(apart)) + apart * taken);
}

bool ProviderWeather::hear(const ProviderNews& news, TimePoint now) {
    const bool said = news.remaining && quota(news, now);
    const bool shaped = news.retry_after && refused(news, now);
    return said || shaped;
}

bool ProviderWeather::quota(const ProviderNews& news, TimePoint now) {
    const auto until = std::min(news.reset_at.value_or(now + window()), now + kLongestWait);
    if (until <= now) return false;
    // Those under way may not have been counted yet when it was said.
    const auto left = std::max<std::int64_t>(
        0, *news.remaining - (news.of == Measure::requests ? sent_.in_flight() : std::int64_t{0}));
    auto& known = record_.quota;
    // What an earlier start was told can only be less by now.
    if (known && known->until > now && known->of == news.of && news.began < known->said && left >= known->left - spent_)
        return false;
    known = {news.of, left, now, until};
    spent_ = 0;
    if (left == 0) record_.why = news.detail;
    return true;
}

bool ProviderWeather::refused(const ProviderNews& news, TimePoint now) {
    const auto counted = news.was_taken ? news.requests : 0;
    const auto well_then = std::max<std::int64_t>(0, well(now) - counted);
    // It was refused, so it does not count; what is still under way is taken off when it ends.
    if (news.requests > 0) sent_.remember(-news.requests, now);
    const auto until = now + std::clamp(*news.retry_after, kLeastWait, kLongestWait);
    if (news.began < shaped_until_) {
        // One of those that were under way when it began to refuse.
        bool changed = false;
        if (counted_ && counted > 0 && *record_.learnt > 1) {
            record_.learnt = std::max<std::int64_t>(1, *record_.learnt - counted);
            changed = true;
        }
        if (!record_.cooling_until || *record_.cooling_until >= until) return changed;
        record_.cooling_until = until;
        return true;
    }
    if (!record_.since) record_.since = now;
    record_.refused_at = now;
    record_.cooling_until = until;
    record_.why = news.detail;
    record_.by.clear();
    // What began a moment before may have been granted a moment after: two clocks.
    shrink(well_then, tried_at_ && news.began + kApart >= *tried_at_, until, now);
    shaped_until_ = until;
    well_since_ = 0;
    step_ = 1;
    tried_at_.reset();
    filled_at_.reset();
    return true;
}

void ProviderWeather::shrink(std::int64_t well, bool tried_more, TimePoint until, TimePoint now) {
    const bool soon =
        shaped_until_ != TimePoint{} && record_.learnt && well_since_ < std::max<std::int64_t>(1, *record_.learnt / 4);
    const auto before = record_.learnt;
    counted_ = false;
    Duration patience = window();
    const auto after_a_try = [&] {
        return std::max<Duration>(window() * kWindowsBetweenTries, (until - now) * kWaitsBetweenTries);
    };
    if (!before) {
        record_.learnt = well > 0 ? well : std::max<std::int64_t>(1, declared_.value_or(1) / 2);
        counted_ = well > 0;
    } else if (tried_more) {
        // More was tried, and what was known before still holds. After a large step a small one may still go well.
        patience = step_ == 1 ? after_a_try() : std::max<Duration>(window(), (until - now) * kWaitsAfterALeap);
    } else {
        // It gives less than it did: what will still count when it wants to be asked again is what fits then.
        const auto then = std::max<std::int64_t>(0, sent_.used(until) - sent_.in_flight());
        record_.learnt = well > 0 ? std::clamp(then, (well + 1) / 2, well) : std::max<std::int64_t>(1, *before / 2);
        // A little less only: the last step was one too many.
        if (*record_.learnt * 10 >= *before * 9) patience = after_a_try();
        counted_ = well > 0;
    }
    strikes_ = soon ? strikes_ + 1 : 0;
    if (strikes_ > 0) {
        const double keep = kShrink[static_cast<std::size_t>(std::min(strikes_, 4) - 1)];
        record_.learnt = std::max<std::int64_t>(
            1, std::min(*record_.learnt, static_cast<std::int64_t>(static_cast<double>(*before) * keep)));
    }
    record_.grows_at = until + patience;
}

bool ProviderWeather::went_well(std::int64_t requests, TimePoint began, TimePoint now) {
    bool changed = false;
    if (record_.cooling_until && *record_.cooling_until <= now && began >= *record_.cooling_until) {
        record_.cooling_until.reset();
        changed = true;
    }
    if (!record_.learnt) return passed(now) || changed;
    if (began < shaped_until_) {
        // It had gone before the refusal, and not been counted yet.
        if (counted_) {
            *record_.learnt += requests;
            changed = true;
        }
        return changed;
    }
    well_since_ += requests;
    const auto most = *allowed(now);
    // Held for a whole window: a provider that begins anew at each minute takes more across its reset.
    if (filled_at_ && began + kApart >= *filled_at_ && now - *record_.grows_at >= window()) {
        record_.learnt = most;
        record_.grows_at = now;
        tried_at_.reset();
        filled_at_.reset();
        step_ = std::min(step_ * 2, most);
        changed = true;
    }
    return passed(now) || changed;
}

bool ProviderWeather::passed(TimePoint now) {
    bool changed = false;
    if (record_.quota && record_.quota->until <= now) {
        record_.quota.reset();
        changed = true;
    }
    const bool back = record_.learnt && declared_ && *record_.learnt >= *declared_;
    const bool old = record_.refused_at && now - *record_.refused_at >= kForgotten;
    if (record_.learnt && (back || old)) {
        record_.learnt.reset();
        record_.grows_at.reset();
        changed = true;
    }
    if (!record_.learnt && !record_.cooling_until && record_.since) {
        record_.since.reset();
        record_.refused_at.reset();
        changed = true;
    }
    return changed;
}

}
