#pragma once
// Asio as the rooms use it. Everything here is in the precompiled header; Beast is not and stays in two .cc files.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <exception>
#include <memory>
#include <utility>

namespace impresario::platform {

namespace asio = boost::asio;

/// A coroutine on the network thread.
///
/// What is awaited takes no temporaries of class type: GCC 12 copies lambdas and aggregates inside a `co_await`
/// expression bit by bit and destroys them twice (GCC bugs 99576, 100611). Start first, await then:
///     auto loading = database.read([id](Tx& tx) { … });
///     const auto rows = co_await std::move(loading);
/// tests/agreement keeps this true.
template <class T>
using Task = asio::awaitable<T>;

/// Suspends for `length` by the steady clock.
inline Task<void> pause_for(std::chrono::steady_clock::duration length) {
    asio::steady_timer timer(co_await asio::this_coro::executor, length);
    co_await timer.async_wait(asio::use_awaitable);
}

/// Wakes whoever waits. Signals before the wait are kept (one of them): a wake-up is a hint that is never lost.
/// Network thread only; one waiter at a time.
class Wakeup {
  public:
    explicit Wakeup(const asio::any_io_executor& executor) : timer_(executor) {}

    void signal() {
        pending_ = true;
        timer_.cancel();
    }

    /// Returns when signalled or after `longest`; true if it was a signal.
    Task<bool> wait(std::chrono::steady_clock::duration longest) {
        if (!pending_) {
            timer_.expires_after(longest);
            co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
        }
        const bool signalled = std::exchange(pending_, false);
        co_return signalled;
    }

  private:
    asio::steady_timer timer_;
    bool pending_ = false;
};

}
