#pragma once
// Makes version-7 UUIDs.

#include <mutex>

#include "domain/id.h"
#include "domain/time.h"

namespace impresario::platform {

/// Ids that sort by the time they were made, and never backwards within one source (protocol R14). Thread-safe.
class IdSource {
  public:
    /// `now` enters the first 48 bits as milliseconds.
    template <class IdType>
    IdType make(domain::TimePoint now) {
        return IdType{next(now)};
    }

  private:
    std::array<std::uint8_t, 16> next(domain::TimePoint now);

    std::mutex mutex_;
    std::int64_t last_millis_ = 0;
    std::uint16_t counter_ = 0;
};

}
