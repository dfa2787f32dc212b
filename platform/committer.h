#pragma once
// Group commit: many small writes, one transaction.

#include <algorithm>
#include <deque>
#include <exception>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "platform/async.h"
#include "platform/database.h"

namespace impresario::platform {

/// Collects items while a flush is under way and writes what has gathered in the next one; an idle committer flushes at
/// once. Every submitter is answered only after the commit. Network thread only.
///
/// A row that PostgreSQL cannot store fails alone: the batch is halved until it is found (protocol R10).
template <class Item, class Reply>
class Committer {
  public:
    /// Writes all items in the transaction and returns one reply each, in order. Runs on a database thread and may run
    /// again; it must not change the items.
    using Flush = std::function<std::vector<Reply>(Tx&, const std::vector<Item>&)>;
    /// Called on the network thread after a commit, before the submitters are resumed.
    using Committed = std::function<void(const std::vector<Reply>&)>;

    Committer(Database& database, Flush flush, Committed committed = {}, std::size_t most = 500, int parallel = 1)
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
        co_await flush_some(std::move(items), handlers);
        --flushing_;
        pump();
    }

    Task<void> flush_some(std::vector<Item> items, std::vector<Handler>& handlers) {
        std::exception_ptr failure;
        std::vector<Reply> replies;
        bool data_fault = false;
        const auto shared = std::make_shared<const std::vector<Item>>(std::move(items));
        try {
            auto asked_replies = database_.transact([flush = flush_, shared](Tx& tx) { return flush(tx, *shared); });
            replies = co_await std::move(asked_replies);
        } catch (const StatementRefused& refused) {
            failure = std::current_exception();
            data_fault = refused.data();
        } catch (...) {
            failure = std::current_exception();
        }
        if (failure && data_fault && shared->size() > 1) {
            const auto half = static_cast<std::ptrdiff_t>(shared->size() / 2);
            std::vector<Item> first(shared->begin(), shared->begin() + half);
            std::vector<Item> second(shared->begin() + half, shared->end());
            std::vector<Handler> first_handlers;
            std::vector<Handler> second_handlers;
            for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(handlers.size()); ++i)
                (i < half ? first_handlers : second_handlers)
                    .push_back(std::move(handlers[static_cast<std::size_t>(i)]));
            co_await flush_some(std::move(first), first_handlers);
            co_await flush_some(std::move(second), second_handlers);
            co_return;
        }
        if (!failure && committed_) committed_(replies);
        for (std::size_t i = 0; i < handlers.size(); ++i) {
            if (failure) {
                std::move(handlers[i])(failure, Reply{});
            } else {
                std::move(handlers[i])(std::exception_ptr{}, std::move(replies[i]));
            }
        }
    }

    Database& database_;
    Flush flush_;
    Committed committed_;
    std::size_t most_;
    int parallel_;
    int flushing_ = 0;
    std::deque<Entry> waiting_;
};

}
