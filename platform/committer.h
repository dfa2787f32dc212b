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
                                                                      std::vector<Item> items) {
    using Written = std::vector<std::variant<Reply, std::exception_ptr>>;
    const auto shared = std::make_shared<const std::vector<Item>>(std::move(items));
    std::exception_ptr failure;
    bool data_fault = false;
    Written written;
    try {
        auto asked_replies = database.transact([&flush, shared](Tx& tx) { return flush(tx, *shared); });
        std::vector<Reply> replies = co_await std::move(asked_replies);
        for (auto& reply : replies) written.emplace_back(std::move(reply));
        co_return written;
    } catch (const StatementRefused& refused) {
        failure = std::current_exception();
        data_fault = refused.data();
    } catch (...) {
        failure = std::current_exception();
    }
    if (!data_fault || shared->size() == 1) co_return Written(shared->size(), failure);
    const auto half = shared->begin() + static_cast<std::ptrdiff_t>(shared->size() / 2);
    auto asked_first = write_each<Item, Reply>(database, flush, std::vector<Item>(shared->begin(), half));
    written = co_await std::move(asked_first);
    auto asked_second = write_each<Item, Reply>(database, flush, std::vector<Item>(half, shared->end()));
    auto second = co_await std::move(asked_second);
    std::move(second.begin(), second.end(), std::back_inserter(written));
    co_return written;
}

/// Collects items while a flush is under way and writes what has gathered in the next one; an idle committer flushes at
/// once. Every submitter is answered only after the commit. Network thread only.
/// What PostgreSQL cannot store fails alone.
template <class Item, class Reply>
class Committer {
  public:
    /// Called on the network thread after a commit, before the submitters are resumed.
    using Committed = std::function<void(const std::vector<Reply>&)>;

    Committer(Database& database, Flush<Item, Reply> flush, Committed committed = {}, std::size_t most = 500,
              int parallel = 1)
        : database_(database),
          flush_(std::move(flush)),
          committed_(std::move(committed)),
          most_(most),
          parallel_(parallel) {}

    /// Returns the item's reply once it is committed; throws what the transaction threw.
    Task<Reply> submit(Item item) {
        auto asked_answer = asio::async_initiate<const asio::use_awaitable_t<>&, void(std::exception_ptr, Reply)>(
            [this](auto handler, Item moved) {
                waiting_.push_back(Entry{std::move(moved), std::move(handler)});
                pump();
            },
            asio::use_awaitable, std::move(item));
        co_return co_await std::move(asked_answer);
    }

    std::size_t waiting() const { return waiting_.size(); }
    bool idle() const { return waiting_.empty() && flushing_ == 0; }

  private:
    using Handler = typename asio::async_result<asio::use_awaitable_t<>, void(std::exception_ptr, Reply)>::handler_type;
    struct Entry {
        Item item;
        Handler handler;
    };

    void pump() {
        while (flushing_ < parallel_ && !waiting_.empty()) {
            const std::size_t count = std::min(waiting_.size(), most_);
            std::vector<Item> items;
            std::vector<Handler> handlers;
            items.reserve(count);
            handlers.reserve(count);
            for (std::size_t i = 0; i < count; ++i) {
                items.push_back(std::move(waiting_.front().item));
                handlers.push_back(std::move(waiting_.front().handler));
                waiting_.pop_front();
            }
            ++flushing_;
            const auto executor = handlers.front().get_executor();
            asio::co_spawn(executor, flush_all(std::move(items), std::move(handlers)), asio::detached);
        }
    }

    Task<void> flush_all(std::vector<Item> items, std::vector<Handler> handlers) {
        auto asked = write_each<Item, Reply>(database_, flush_, std::move(items));
        auto written = co_await std::move(asked);
        if (committed_) {
            std::vector<Reply> replies;
            for (auto& each : written)
                if (auto* reply = std::get_if<Reply>(&each)) replies.push_back(*reply);
            if (!replies.empty()) committed_(replies);
        }
        for (std::size_t i = 0; i < handlers.size(); ++i) {
            if (auto* reply = std::get_if<Reply>(&written[i])) {
                std::move(handlers[i])(std::exception_ptr{}, std::move(*reply));
            } else {
                std::move(handlers[i])(std::get<std::exception_ptr>(written[i]), Reply{});
            }
        }
        --flushing_;
        pump();
    }

    Database& database_;
    Flush<Item, Reply> flush_;
    Committed committed_;
    std::size_t most_;
    int parallel_;
    int flushing_ = 0;
    std::deque<Entry> waiting_;
};

}
