#pragma once
// Group commit: many small writes, one transaction.

#include <algorithm>
#include <deque>
#include <exception>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "platform/async.h"
#include "platform/database.h"

namespace impresario::platform {

/// Writes all items in the transaction and returns one reply each, in order. Runs on a database thread and may run
/// again; it must not change the items.
template <class Item, class Reply>
using Flush = std::function<std::vector<Reply>(Tx&, const std::vector<Item>&)>;

/// Writes the items in one transaction; if there is one among them that PostgreSQL cannot store, the batch is halved
/// until it is found, and only that one fails (protocol R10). What each brought, in order: its reply, committed, or
/// what its transaction threw.
template <class Item, class Reply>
Task<std::vector<std::variant<Reply, std::exception_ptr>>> write_each(Database& database, Flush<Item, Reply> flush,
                                                                      std::shared_ptr<const std::vector<Item>> items) {
    using Written = std::vector<std::variant<Reply, std::exception_ptr>>;
    std::exception_ptr failure;
    bool data_fault = false;
    Written written;
    try {
        auto asked_replies = database.transact([&flush, items](Tx& tx) { return flush(tx, *items); });
        std::vector<Reply> replies = co_await std::move(asked_replies);
        for (auto& reply : replies) written.emplace_back(std::move(reply));
        co_return written;
    } catch (const StatementRefused& refused) {
        failure = std::current_exception();
        data_fault = refused.data();
    } catch (...) {
        failure = std::current_exception();
    }
    if (!data_fault || items->size() == 1) co_return Written(items->size(), failure);
    const auto half = items->begin() + static_cast<std::ptrdiff_t>(items->size() / 2);
    const auto part = [](auto from, auto to) { return std::make_shared<const std::vector<Item>>(from, to); };
    auto asked_first = write_each<Item, Reply>(database, flush, part(items->begin(), half));
    written = co_await std::move(asked_first);
    auto asked_second = write_each<Item, Reply>(database, flush, part(half, items->end()));
    auto second = co_await std::move(asked_second);
    std::move(second.begin(), second.end(), std::back_inserter(written));
    co_return written;
}

/// Collects items while a flush is under way and writes what has gathered in the next one; an idle committer flushes at
/// once. Every submitter is answered only after the commit. Network thread only.
/// It may have several lanes: each flushes by itself, so that the database works while replies are handled. Items of
/// one key share a lane, and are written in the order in which they came. What PostgreSQL cannot store fails alone. A
/// transaction costs the same round trips for one item as for a hundred, so a lane that had company leaves time for
/// more, 3 ms from the beginning of one transaction to the next for each that came along, up to `longest_pace`. Who
/// comes alone never waits. When the database is away, those who have waited behind fail as well: another try could
/// take as long, and their callers wait.
template <class Item, class Reply>
class Committer {
  public:
    /// Called on the network thread after a commit, before the submitters are resumed.
    using Committed = std::function<void(const std::vector<const Reply*>&)>;

    Committer(Database& database, Flush<Item, Reply> flush, Committed committed = {}, std::size_t most = 500,
              std::size_t lanes = 1, std::chrono::milliseconds longest_pace = std::chrono::milliseconds{3})
        : database_(database),
          flush_(std::move(flush)),
          committed_(std::move(committed)),
          most_(most),
          longest_pace_(longest_pace),
          lanes_(lanes) {}

    /// Returns the item's reply once it is committed; throws what the transaction threw. `key` chooses its lane.
    Task<Reply> submit(Item item, std::size_t key = 0) {
        auto asked_answer = asio::async_initiate<const asio::use_awaitable_t<>&, void(std::exception_ptr, Reply)>(
            [this, key](auto handler, Item moved) {
                Lane& lane = lanes_[key % lanes_.size()];
                lane.waiting.push_back(Entry{std::move(moved), std::move(handler), std::chrono::steady_clock::now()});
                pump(lane);
            },
            asio::use_awaitable, std::move(item));
        co_return co_await std::move(asked_answer);
    }

    bool idle() const {
        return std::all_of(lanes_.begin(), lanes_.end(),
                           [](const Lane& lane) { return lane.waiting.empty() && !lane.flushing; });
    }

  private:
    using Handler = typename asio::async_result<asio::use_awaitable_t<>, void(std::exception_ptr, Reply)>::handler_type;
    struct Entry {
        Item item;
        Handler handler;
        std::chrono::steady_clock::time_point since;
    };
    /// Who came later may try for himself.
    static constexpr std::chrono::seconds kWaited{1};
    /// As many need no more company.
    static constexpr std::size_t kEnough = 64;
    /// From the beginning of a transaction of so many items to the next.
    std::chrono::milliseconds pace(std::size_t items) const {
        return std::min(std::chrono::milliseconds{3} * static_cast<int>(items > 0 ? items - 1 : 0), longest_pace_);
    }
    struct Lane {
        std::deque<Entry> waiting;
        bool flushing = false;
        /// When the next transaction may begin.
        std::chrono::steady_clock::time_point next{};
        std::unique_ptr<asio::steady_timer> pause;
    };

    void pump(Lane& lane) {
        if (lane.flushing || lane.waiting.empty()) return;
        const auto now = std::chrono::steady_clock::now();
        if (lane.waiting.size() < kEnough && now < lane.next) {
            if (lane.pause) return;
            lane.pause = std::make_unique<asio::steady_timer>(lane.waiting.front().handler.get_executor(), lane.next);
            lane.pause->async_wait([this, &lane](boost::system::error_code) {
                lane.pause.reset();
                pump(lane);
            });
            return;
        }
        const std::size_t count = std::min(lane.waiting.size(), most_);
        lane.next = now + pace(count);
        std::vector<Item> items;
        std::vector<Handler> handlers;
        items.reserve(count);
        handlers.reserve(count);
        for (std::size_t i = 0; i < count; ++i) {
            items.push_back(std::move(lane.waiting.front().item));
            handlers.push_back(std::move(lane.waiting.front().handler));
            lane.waiting.pop_front();
        }
        lane.flushing = true;
        const auto executor = handlers.front().get_executor();
        asio::co_spawn(executor, flush_all(lane, std::move(items), std::move(handlers)), asio::detached);
    }

    Task<void> flush_all(Lane& lane, std::vector<Item> items, std::vector<Handler> handlers) {
        auto asked =
            write_each<Item, Reply>(database_, flush_, std::make_shared<const std::vector<Item>>(std::move(items)));
        auto written = co_await std::move(asked);
        if (committed_) {
            std::vector<const Reply*> replies;
            replies.reserve(written.size());
            for (const auto& each : written)
                if (const auto* reply = std::get_if<Reply>(&each)) replies.push_back(reply);
            if (!replies.empty()) committed_(replies);
        }
        std::vector<Handler> behind;
        if (std::all_of(written.begin(), written.end(), database_away)) behind = take_waiting(lane);
        for (std::size_t i = 0; i < handlers.size(); ++i) {
            if (auto* reply = std::get_if<Reply>(&written[i])) {
                std::move(handlers[i])(std::exception_ptr{}, std::move(*reply));
            } else {
                std::move(handlers[i])(std::get<std::exception_ptr>(written[i]), Reply{});
            }
        }
        for (auto& handler : behind)
            std::move(handler)(std::make_exception_ptr(DatabaseUnavailable("the database is away")), Reply{});
        lane.flushing = false;
        pump(lane);
    }

    static bool database_away(const std::variant<Reply, std::exception_ptr>& written) {
        const auto* failure = std::get_if<std::exception_ptr>(&written);
        if (!failure) return false;
        try {
            std::rethrow_exception(*failure);
        } catch (const DatabaseUnavailable&) {
            return true;
        } catch (const DatabaseInDoubt&) {
            return true;
        } catch (...) {
            return false;
        }
    }

    static std::vector<Handler> take_waiting(Lane& lane) {
        const auto now = std::chrono::steady_clock::now();
        std::vector<Handler> taken;
        for (; !lane.waiting.empty() && now - lane.waiting.front().since >= kWaited; lane.waiting.pop_front())
            taken.push_back(std::move(lane.waiting.front().handler));
        return taken;
    }

    Database& database_;
    Flush<Item, Reply> flush_;
    Committed committed_;
    std::size_t most_;
    std::chrono::milliseconds longest_pace_;
    std::vector<Lane> lanes_;
};

}
