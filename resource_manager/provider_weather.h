#pragma once
// How a provider does: what it has refused, what it says is left, and how much of it has gone well lately. A pure value
// fed with news; one thread.

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "domain/demand.h"
#include "domain/time.h"
#include "resource_manager/meter.h"

namespace impresario::resource_manager {

/// What somebody who called a provider has learnt of it: a refusal, or how much is left.
struct ProviderNews {
    std::string provider;
    /// It has refused, and asks for this much patience.
    std::optional<domain::Duration> retry_after;
    /// At most so many more until then; without a time until the window has passed.
    std::optional<std::int64_t> remaining;
    std::optional<domain::TimePoint> reset_at;
    /// What remains: requests or tokens.
    Measure of = Measure::requests;
    /// Requests that the start was charged with, of those refused.
    std::int64_t requests = 0;
    /// The start had been taken for a success before.
    bool was_taken = false;
    /// When that start was granted, or its request began: what began before the last refusal teaches nothing new.
    domain::TimePoint began{};
    /// Who says so, for people.
    std::string detail;
};

/// What is remembered across schedulers, and shown.
struct WeatherRecord {
    /// Nothing goes until then; afterwards one at a time, until one has gone well.
    std::optional<domain::TimePoint> cooling_until;
    /// When the present trouble began; it ends when no limit is known any more.
    std::optional<domain::TimePoint> since;
    /// Who said so.
    std::string why;
    /// Requests in a window that went well; nullopt: nothing is known that would limit it.
    std::optional<std::int64_t> learnt;
    /// From then on a little more is tried.
    std::optional<domain::TimePoint> grows_at;
    std::optional<domain::TimePoint> refused_at;
    /// Said to be left at `said`, until `until`.
    struct Quota {
        Measure of = Measure::requests;
        std::int64_t left = 0;
        domain::TimePoint said;
        domain::TimePoint until;
        friend bool operator==(const Quota&, const Quota&) = default;
    };
    std::optional<Quota> quota;
    /// Who has set it by hand; empty: it came so by itself.
    std::string by;
    /// How often it was set by hand: what the scheduler writes down must not undo that.
    int orders = 0;
    friend bool operator==(const WeatherRecord&, const WeatherRecord&) = default;
};

/// By the provider's name.
using WeatherRecords = std::map<std::string, WeatherRecord>;

/// Adaptive, with its own count of what was sent: after the first refusal as many requests in a window as had gone
/// well, evenly spread. A refusal below that halves it at most, several in a row take more; what goes well for a while
/// is tried beyond, in steps that double. It only ever adds to the declared limits.
class ProviderWeather {
  public:
    static constexpr domain::Duration kLeastWait = std::chrono::seconds{1};
    static constexpr domain::Duration kLongestWait = std::chrono::hours{24};
    /// What was learnt is forgotten when nothing has been refused for so long.
    static constexpr domain::Duration kForgotten = std::chrono::hours{24};
    /// So long after a pause the one that asks least goes first; afterwards whoever can.
    static constexpr domain::Duration kCheapestFirst = std::chrono::seconds{2};

    /// `window`: requests are counted in it. `declared`: of it, if there is such a limit.
    ProviderWeather(domain::Duration window, std::optional<std::int64_t> declared);

    /// What one start asks; of a provider that it calls it is at least one request.
    static std::int64_t requests(const domain::Need& need) { return need.calls > 0 ? need.calls : 1; }

    /// A start was granted, or had been at that time.
    void charge(const domain::Need& need, domain::TimePoint at);
    void end(const domain::Need& need, domain::TimePoint at);
    void give_back(const domain::Need& need);
    void trim(domain::TimePoint now) { sent_.trim(now); }

    /// Each returns true when what must be remembered has changed. Time that goes back counts as standing still.
    bool hear(const ProviderNews& news, domain::TimePoint now);
    /// A request that began then was not refused.
    bool went_well(std::int64_t requests, domain::TimePoint began, domain::TimePoint now);
    /// What has outlived its time.
    bool passed(domain::TimePoint now);
    /// As the tables say it is, at the start or by hand.
    void remember(WeatherRecord record);

    const WeatherRecord& record() const { return record_; }
    domain::Duration window() const { return sent_.limit().per; }
    bool cooling(domain::TimePoint now) const { return record_.cooling_until && *record_.cooling_until > now; }
    /// It was left alone, and nothing has gone well since.
    bool probed(domain::TimePoint now) const { return record_.cooling_until && !cooling(now); }
    std::int64_t in_flight() const { return sent_.in_flight(); }
    /// Requests that count now.
    std::int64_t used(domain::TimePoint now) const { return sent_.used(now); }
    /// Of the quota that was said, at this moment; nullopt: none holds.
    std::optional<std::int64_t> left(domain::TimePoint now) const;
    /// Requests in a window, at this moment; nullopt: as many as are declared.
    std::optional<std::int64_t> allowed(domain::TimePoint now) const;
    /// When so many more may go after `taken` others, as far as that is known: `now` when they may.
    std::optional<domain::TimePoint> fits_at(std::int64_t requests, std::int64_t taken, domain::TimePoint now) const;

  private:
    std::int64_t well(domain::TimePoint now) const { return sent_.used(now) - sent_.in_flight(); }
    bool refused(const ProviderNews& news, domain::TimePoint now);
    void shrink(std::int64_t well, bool tried_more, domain::TimePoint until, domain::TimePoint now);
    bool quota(const ProviderNews& news, domain::TimePoint now);
    domain::Duration gap(domain::TimePoint now) const;
    domain::Duration slack(domain::Duration gap) const;

    std::optional<std::int64_t> declared_;
    WeatherRecord record_;
    Meter sent_;
    /// Charged since the quota was said, in its unit.
    std::int64_t spent_ = 0;
    /// When the patience of the last refusal that taught something is over: what begins earlier was granted before it.
    domain::TimePoint shaped_until_{};
    /// What is known was counted then, and those that were under way still tell more of it.
    bool counted_ = false;
    std::int64_t well_since_ = 0;
    int strikes_ = 0;
    std::int64_t step_ = 1;
    /// Since when more is tried than is known, and as much more as is to be.
    std::optional<domain::TimePoint> tried_at_;
    std::optional<domain::TimePoint> filled_at_;
    /// The next is due then, if requests are to be evenly spread.
    domain::TimePoint next_at_{};
};

}
