#pragma once
// How long a queue may grow, and how fast it gets shorter. Pure.

#include <array>
#include <cstdint>
#include <optional>

#include "domain/time.h"

namespace impresario::resource_manager {

/// nullopt: any number may wait.
struct QueueBounds {
    /// Beyond it who enqueues is asked to come back later.
    std::optional<std::int64_t> soft;
    /// Beyond it what has the lowest score is shed.
    std::optional<std::int64_t> hard;
};

struct QueueLength {
    std::int64_t waiting = 0;
    /// How many leave it in a minute, as it has been lately.
    double per_minute = 0;
    friend bool operator==(const QueueLength&, const QueueLength&) = default;
};

/// Counts what leaves a queue, over the last minute.
class DrainRate {
  public:
    void left(domain::TimePoint now);
    double per_minute(domain::TimePoint now) const;

  private:
    static constexpr int kSlots = 12;
    static constexpr domain::Duration kSlot = std::chrono::seconds{5};
    static std::int64_t slot_at(domain::TimePoint now) { return now.time_since_epoch() / kSlot; }

    std::array<std::int64_t, kSlots> counts_{};
    std::int64_t newest_ = 0;
    /// When the first one left: before that nothing is known.
    std::optional<domain::TimePoint> since_;
};

/// Why more may not join a queue.
struct QueueFull {
    std::int64_t waiting = 0;
    std::int64_t limit = 0;
    /// When there should be room for them, as fast as it goes; nullopt: nothing leaves it at the moment.
    std::optional<domain::Duration> room_in;
    /// There never is: they are more than the bound.
    bool never = false;
};

std::optional<QueueFull> full(const QueueBounds& bounds, const QueueLength& length, std::int64_t more);

}
