#pragma once
// A body that comes piece by piece, for as long as somebody reads it.

#include <functional>
#include <optional>
#include <string>

#include "platform/async.h"

namespace impresario::platform {

/// Network thread only.
class BodyStream {
  public:
    virtual ~BodyStream() = default;
    /// Resumes with the next piece, once the one before has been written; nullopt: that was all.
    virtual Task<std::optional<std::string>> next() = 0;
    /// Nobody reads any more: `next` resumes soon, and is not asked again.
    virtual void stop() = 0;

    /// Ends the connection at once, whatever is being written. The server sets it before it asks for a piece.
    std::function<void()> hang_up;
};

}
