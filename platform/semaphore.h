#pragma once
// Lets so many in at once; others wait in the order in which they came. Network thread only.

#include <deque>
#include <utility>

#include "platform/async.h"

namespace impresario::platform {

class Semaphore {
  public:
    Semaphore(asio::any_io_executor executor, int places) : executor_(std::move(executor)), free_(places) {}

    /// Held by who was let in. The semaphore must outlive it.
    class Place {
      public:
        explicit Place(Semaphore& of) : of_(&of) {}
        Place(Place&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
        Place& operator=(Place&&) = delete;
        ~Place() {
            if (of_) of_->leave();
        }

      private:
        Semaphore* of_;
    };

    Task<Place> enter() {
        if (free_ > 0) {
            --free_;
            co_return Place(*this);
        }
        // By name: a mere wake-up would be lost when two leave before the first one woken has run.
        Waiter waiter{asio::steady_timer(executor_, std::chrono::hours{24 * 365})};
        waiting_.push_back(&waiter);
        while (!waiter.given) co_await waiter.timer.async_wait(asio::as_tuple(asio::use_awaitable));
        co_return Place(*this);
    }

  private:
    struct Waiter {
        asio::steady_timer timer;
        bool given = false;
    };
    void leave() {
        if (waiting_.empty()) {
            ++free_;
            return;
        }
        auto* next = waiting_.front();
        waiting_.pop_front();
        next->given = true;
        next->timer.cancel();
    }

    asio::any_io_executor executor_;
    int free_;
    std::deque<Waiter*> waiting_;
};

}
