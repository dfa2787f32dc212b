#pragma once
// What the leading node does beside the turns, again and again, as long as it leads.

#include "orchestrator/hub.h"
#include "orchestrator/node.h"

namespace impresario::orchestrator {

/// One of a kind per process. Network thread only.
class LeaderLoop {
  public:
    /// Survives everything but stop().
    platform::Task<void> run();
    void stop();

  protected:
    /// `in_trouble`: what is said once when a turn fails, as in "schedules have to wait"; outlives the loop.
    LeaderLoop(Node& node, Hub& hub, const char* in_trouble);
    ~LeaderLoop() = default;

    /// Works once. Returns how long there is nothing to do, unless somebody wakes it. What it throws is tried again
    /// soon.
    virtual platform::Task<std::chrono::steady_clock::duration> turn() = 0;
    /// A turn has failed: what it knows is to be read again.
    virtual void forget() = 0;
    /// Another node leads, or none.
    virtual void stand_down() { forget(); }
    void wake() { wakeup_.signal(); }
    /// Within a turn: until somebody wakes or stops it, for so long at most.
    platform::Task<bool> pause(std::chrono::steady_clock::duration longest) { return wakeup_.wait(longest); }
    bool goes_on() const { return !stopped_ && hub_.leads(); }
    bool stopped() const { return stopped_; }

    Node& node_;
    Hub& hub_;

  private:
    const char* in_trouble_;
    platform::Wakeup wakeup_;
    bool troubled_ = false;
    bool stopped_ = false;
};

}
