#pragma once
// How the attempts of each lane have ended lately, minute by minute: what alerts are about. Pure; memory only.

#include <array>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "domain/execution.h"
#include "domain/time.h"

namespace impresario::orchestrator {

class RecentEnds {
  public:
    /// Kept minutes; what is asked for must be within.
    static constexpr int kMinutes = 32;
    /// Of what failed that many are named.
    static constexpr std::size_t kNamed = 20;

    /// An attempt is over, and its execution stands so.
    void over(const domain::Lane& lane, const domain::ExecutionId& execution, domain::Status status,
              domain::TimePoint now);

    struct Count {
        int completed = 0;
        /// failed and dead.
        int failed = 0;
        /// It is tried again.
        int retried = 0;
        int ended() const { return completed + failed; }
    };
    /// Of the minutes from `from` minutes ago to `to` minutes ago, the present one first (0).
    Count count(const domain::Lane& lane, int from, int to, domain::TimePoint now) const;
    std::vector<domain::Lane> lanes() const;
    /// Those that failed within so many minutes, the latest first.
    std::vector<std::string> failed(const domain::Lane& lane, int minutes, domain::TimePoint now) const;

  private:
    struct Minute {
        std::int64_t number = -1;
        Count count;
    };
    struct Lately {
        std::array<Minute, kMinutes> minutes;
        std::deque<std::pair<std::int64_t, domain::ExecutionId>> failed;
    };
    std::map<domain::Lane, Lately> lanes_;
};

}
