#pragma once
// How far the numbers of events are settled: up to there every event that will ever be is committed (protocol R13).

#include <cstdint>
#include <deque>

namespace impresario::journal {

/// The latest number that had been taken at some moment, and a transaction's number from after that moment: whoever
/// took a number up to it has a lower one.
struct Mark {
    std::int64_t number = 0;
    std::int64_t transaction = 0;
};

/// Pure. Marks come in order.
class Horizon {
  public:
    /// The highest number that has been marked.
    std::int64_t marked() const { return marks_.empty() ? settled_ : marks_.back().number; }
    void mark(Mark mark) {
        if (mark.number <= marked()) return;
        // While somebody's transaction does not end, a later mark says as much as all that came after the first ones.
        if (marks_.size() < kMost) {
            marks_.push_back(mark);
        } else {
            marks_.back() = mark;
        }
    }
    /// Every transaction below `oldest` has ended.
    void ended(std::int64_t oldest) {
        while (!marks_.empty() && marks_.front().transaction < oldest) {
            settled_ = marks_.front().number;
            marks_.pop_front();
        }
    }
    std::int64_t settled() const { return settled_; }
    /// Numbers that wait for a transaction that is under way.
    bool waits() const { return !marks_.empty(); }

  private:
    static constexpr std::size_t kMost = 64;
    std::deque<Mark> marks_;
    std::int64_t settled_ = 0;
};

}
