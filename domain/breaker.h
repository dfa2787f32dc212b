#pragma once
// How an endpoint's circuit breaker stands: what is remembered of it, and shown.

#include <optional>
#include <string>
#include <string_view>

#include "domain/time.h"

namespace impresario::domain {

/// half_open: one request at a time goes, and its answer decides.
enum class BreakerState { closed, half_open, open };

std::string_view name(BreakerState state);
std::optional<BreakerState> parse_breaker_state(std::string_view text);

struct BreakerRecord {
    BreakerState state = BreakerState::closed;
    /// When it came to be so; nullopt: it has never been anything else.
    std::optional<TimePoint> since;
    /// Of an open one: when it is half open; nullopt: it stays open until it is reset.
    std::optional<TimePoint> until;
    /// Openings in a row: the wait doubles with it.
    int openings = 0;
    /// Why: the numbers, or what was said by hand.
    std::string detail;
    /// Who tripped or reset it by hand; empty: it came so by itself.
    std::string by;
    /// How often it was set by hand: what the scheduler writes down must not undo that.
    int orders = 0;

    friend bool operator==(const BreakerRecord&, const BreakerRecord&) = default;
};

/// Whether nothing at all goes at this moment.
inline bool stops(const BreakerRecord& breaker, TimePoint now) {
    return breaker.state == BreakerState::open && (!breaker.until || *breaker.until > now);
}

}
