#pragma once
// Who has gone: a process's end is seen at once as the end of the session it listened with.

#include <chrono>
#include <map>

#include "domain/id.h"

namespace impresario::orchestrator {

/// Sessions also end while their process lives (a network fault, pg_terminate_backend) and are replaced within a
/// moment, so a node counts as gone only once the same session has been missing for `patience`.
class Presence {
  public:
    using Clock = std::chrono::steady_clock;
    explicit Presence(Clock::duration patience) : patience_(patience) {}

    /// What was just seen of a node: the session it named, and whether that is missing. True: it has gone.
    bool gone(const domain::NodeId& node, int session, bool missing, Clock::time_point now) {
        if (!missing) {
            missing_.erase(node);
            return false;
        }
        auto& [which, since] = missing_.try_emplace(node, session, now).first->second;
        if (which != session) {
            which = session;
            since = now;
        }
        return now - since >= patience_;
    }

  private:
    Clock::duration patience_;
    std::map<domain::NodeId, std::pair<int, Clock::time_point>> missing_;
};

}
