#pragma once
// When requests came to a peer, to be held against a rate.

#include <algorithm>
#include <chrono>
#include <mutex>
#include <vector>

namespace impresario::testing {

class Arrivals {
  public:
    void note() {
        const std::lock_guard lock(mutex_);
        at_.push_back(std::chrono::steady_clock::now());
    }
    std::size_t count() const {
        const std::lock_guard lock(mutex_);
        return at_.size();
    }
    /// Most in any window that is open at its end.
    std::size_t most_within(std::chrono::steady_clock::duration window) const {
        const std::lock_guard lock(mutex_);
        auto at = at_;
        std::sort(at.begin(), at.end());
        std::size_t most = 0;
        std::size_t first = 0;
        for (std::size_t i = 0; i < at.size(); ++i) {
            while (at[i] - at[first] >= window) ++first;
            most = std::max(most, i - first + 1);
        }
        return most;
    }

  private:
    mutable std::mutex mutex_;
    std::vector<std::chrono::steady_clock::time_point> at_;
};

}
