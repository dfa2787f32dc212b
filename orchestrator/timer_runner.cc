#include "orchestrator/timer_runner.h"

#include "orchestrator/scheduler_store.h"
#include "schedules/timer_store.h"

namespace impresario::orchestrator {

using domain::TimePoint;
using platform::Task;
using platform::Tx;
using schedules::TimerStore;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {
/// Without having been told that one was set, which is the earliest is read this often: a net, whatever their number.
constexpr std::chrono::seconds kReload{10};
/// Timers of one transaction.
constexpr int kMostAtOnce = 500;
/// While somebody else has what is due in a transaction of his own.
constexpr milliseconds kHeldPause{100};
}

Task<steady_clock::duration> TimerRunner::turn() {
    if (!known_ || steady_clock::now() - read_at_ > kReload) co_await read_next();
    if (next_ && *next_ <= node_.clock().now()) {
        auto firing = fire();
        const bool held = co_await std::move(firing);
        if (held) co_return kHeldPause;
    }
    if (!known_) co_return steady_clock::duration{0};
    if (!next_) co_return kReload;
    co_return std::clamp<steady_clock::duration>(*next_ - node_.clock().now(), milliseconds{1}, kReload);
}

Task<void> TimerRunner::read_next() {
    // Who asks for another reading meanwhile gets it.
    known_ = true;
    read_at_ = steady_clock::now();
    auto reading = node_.database().read([](Tx& tx) { return TimerStore().next(tx); });
    next_ = co_await std::move(reading);
}

/// True: what is due cannot be had just now.
Task<bool> TimerRunner::fire() {
    struct Fired {
        TimePoint now;
        std::vector<TimePoint> due;
        std::optional<TimePoint> next;
    };
    auto firing = node_.database().transact([this, epoch = hub_.epoch()](Tx& tx) {
        Fired fired;
        fired.now = SchedulerStore().fence(tx, epoch, node_.id());
        fired.due = TimerStore().fire(tx, kMostAtOnce, node_.id());
        fired.next = TimerStore().next(tx);
        return fired;
    });
    const auto fired = co_await std::move(firing);
    next_ = fired.next;
    for (const auto& due : fired.due) node_.probe().timer_due(fired.now - due);
    co_return fired.due.empty() && next_&&* next_ <= fired.now;
}

}
