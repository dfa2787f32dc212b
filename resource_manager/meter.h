#pragma once
// How much of one limit is used: charged when a start is granted, and until the end of its delivery plus the window
// (protocol R19), so that the provider never sees more than the limit in any window, however long a request was on its
// way. Pure; one thread.

#include <cstdint>
#include <optional>
#include <vector>

#include "domain/time.h"
#include "resource_manager/provider.h"

namespace impresario::resource_manager {

/// Amounts that ended are counted a little longer than their window (1/256 of it): what ended close together is one
/// sum.
class Meter {
  public:
    explicit Meter(ProviderLimit limit) : limit_(std::move(limit)) {}

    const ProviderLimit& limit() const { return limit_; }

    /// A start was granted: its request is under way, or about to be.
    void charge(std::int64_t amount) { in_flight_ += amount; }
    /// It certainly was not sent after all.
    void give_back(std::int64_t amount) { in_flight_ -= amount; }
    /// Its request has ended at `at`, or will have by then. Ends may come out of order.
    void end(std::int64_t amount, domain::TimePoint at);
    /// Recorded earlier: a request that had ended at `at`.
    void remember(std::int64_t amount, domain::TimePoint at) {
        charge(amount);
        end(amount, at);
    }

    /// What counts against the limit at `now`.
    std::int64_t used(domain::TimePoint now) const;
    std::int64_t in_flight() const { return in_flight_; }
    /// When `amount` more will fit if nothing else is granted; nullopt: that depends on requests under way, or it never
    /// will. `now` itself when it fits already.
    std::optional<domain::TimePoint> fits_at(std::int64_t amount, domain::TimePoint now) const;

    /// Drops what no longer counts.
    void trim(domain::TimePoint now);
    /// Since it was trimmed nothing counts; a token bucket is not known to be.
    bool idle() const { return in_flight_ == 0 && ended_.empty() && limit_.kind != WindowKind::token_bucket; }

  private:
    __extension__ typedef __int128 Wide;
    struct Ended {
        /// Until when it counts in full.
        domain::TimePoint until;
        std::int64_t amount = 0;
    };
    /// What a token bucket still has to refill, in units of amount × per (microseconds), so that nothing is rounded.
    struct Debt {
        Wide left = 0;
        domain::TimePoint at;

        void refill(std::int64_t per_window, domain::TimePoint until);
    };
    domain::TimePoint counts_until(domain::TimePoint end) const;
    void fold(Debt& debt, const Ended& ended) const;
    std::int64_t rounded(const Debt& debt) const;
    std::optional<domain::TimePoint> refilled_at(std::int64_t room, domain::TimePoint now) const;

    ProviderLimit limit_;
    std::int64_t in_flight_ = 0;
    /// By `until`, and their sum. What leaves a token bucket's is debt from then on.
    std::vector<Ended> ended_;
    std::int64_t ended_total_ = 0;
    Debt debt_;
};

}
