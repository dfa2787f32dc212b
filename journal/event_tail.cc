#include "journal/event_tail.h"

#include "platform/log.h"

namespace impresario::journal {

namespace log = platform::log;
using platform::Task;
using platform::Tx;
using std::chrono::steady_clock;

namespace {
/// After the database has gone away.
constexpr std::chrono::milliseconds kAwayPause{500};
/// Numbers wait this long before somebody is told whose transaction it is, and so long between two times.
constexpr std::chrono::seconds kPatience{10};
constexpr std::chrono::minutes kBetweenComplaints{1};
/// A transaction that takes longer than this is not about to end.
constexpr std::chrono::seconds kAboutToEnd{1};

struct Look {
    std::int64_t oldest = 0;
    std::int64_t settled = 0;
    std::int64_t last = 0;
    NumberedPage page;
    std::string holder;
};
}

EventTail::EventTail(platform::asio::any_io_executor executor, platform::Database& database, EventTailSettings settings)
    : database_(database), settings_(settings), wakeup_(executor) {}

void EventTail::want() {
    if (std::exchange(wanted_, true)) return;
    // What happened meanwhile is nobody's business here: whoever wants it reads it.
    horizon_ = Horizon{};
    begun_at_.reset();
    ready_ = false;
    hole_ = 0;
    settled_at_ = steady_clock::now();
    wakeup_.signal();
}

void EventTail::rest() {
    wanted_ = false;
    ready_ = false;
}

void EventTail::stop() {
    stopped_ = true;
    wakeup_.signal();
}

steady_clock::duration EventTail::held_up() const {
    return wanted_ && horizon_.waits() ? steady_clock::now() - settled_at_ : steady_clock::duration{0};
}

Task<void> EventTail::run() {
    while (!stopped_) {
        if (!wanted_) {
            co_await wakeup_.wait(std::chrono::hours{1});
            continue;
        }
        bool more = false;
        std::string failure;
        try {
            more = co_await round();
            away_ = false;
        } catch (const std::exception& e) {
            failure = e.what();
        }
        if (!failure.empty() && !std::exchange(away_, true))
            log::warn("event streams stand still until the database answers", {{"error", failure}});
        if (more || stopped_) continue;
        const bool soon = horizon_.waits() && held_up() < kAboutToEnd;
        const auto pause = away_ ? kAwayPause : soon ? settings_.settle : settings_.poll;
        co_await wakeup_.wait(pause);
    }
}

/// Reads once; true when there is more to read at once.
Task<bool> EventTail::round() {
    auto marking = database_.read([known = horizon_.marked()](Tx& tx) { return StreamStore().mark(tx, known); });
    const auto mark = co_await std::move(marking);
    if (!wanted_) co_return false;
    if (mark.number < horizon_.settled()) {
        log::warn("the numbers of events have gone back; streams begin anew",
                  {{"from", horizon_.settled()}, {"to", mark.number}});
        horizon_ = Horizon{};
        begun_at_.reset();
        ready_ = false;
        hole_ = 0;
        if (on_lost) on_lost();
        co_return false;
    }
    if (!begun_at_) begun_at_ = mark.number;
    if (mark.transaction != 0) horizon_.mark(mark);
    const bool behind = !ready_ || looked_ < horizon_.settled();
    if (!horizon_.waits() && !behind) {
        settled_at_ = steady_clock::now();
        co_return false;
    }

    const auto now = steady_clock::now();
    const bool complain = now - settled_at_ > kPatience && now - complained_at_ > kBetweenComplaints;
    auto looking = database_.read([horizon = horizon_, ready = ready_, after = std::max(position_, hole_),
                                   most = settings_.page, complain](Tx& tx) {
        const StreamStore store;
        Look look;
        look.oldest = store.oldest_transaction(tx);
        auto then = horizon;
        then.ended(look.oldest);
        look.settled = then.settled();
        if (ready) look.page = store.page(tx, after, look.settled, most);
        if (!ready) look.last = store.last_event(tx, look.settled);
        if (complain && then.waits()) look.holder = store.oldest_writer(tx);
        return look;
    });
    auto look = co_await std::move(looking);
    if (!wanted_) co_return false;
    if (complain && !look.holder.empty()) {
        complained_at_ = now;
        log::warn("event streams wait for a transaction that does not end",
                  {{"transaction", look.holder}, {"next", "end it, or its session: pg_terminate_backend(pid)"}});
    }
    if (look.settled > horizon_.settled() || !horizon_.waits()) settled_at_ = now;
    horizon_.ended(look.oldest);
    if (!ready_) {
        // Somebody may have begun to want it anew meanwhile.
        if (!begun_at_ || horizon_.settled() < *begun_at_) co_return false;
        ready_ = true;
        position_ = look.last;
        looked_ = look.settled;
        if (on_moved) on_moved();
        co_return false;
    }
    std::size_t bytes = 0;
    bool cut = false;
    const auto& events = look.page.events;
    for (const auto& event : events) {
        position_ = event.number;
        if (on_event) on_event(event);
        bytes += event.payload.size();
        cut = bytes >= settings_.bytes && &event != &events.back();
        if (cut) break;
    }
    looked_ = cut ? position_ : std::max(position_, look.page.until);
    // Numbers before an event that there is are never given out again; others may be, after a crash.
    if (events.empty() && looked_ < look.settled) hole_ = looked_;
    const bool more = cut || looked_ < look.settled;
    if (on_moved) on_moved();
    co_return more;
}

}
