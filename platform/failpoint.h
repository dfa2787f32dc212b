#pragma once
// Faults on demand, for tests. Every statement and every socket call of the hub passes a place at which the process can
// be told to die, to fail, to succeed without hearing of it, to stand still, or to wait. Only where CMake's
// IMPRESARIO_FAILPOINTS is on; in a release nothing of it is left.
//
//     IMPRESARIO_FAILPOINTS="sql.commit=done_then_error@3;http.client.write=kill%0.1;sql=delay(20)%5;seed=7"
//
// place=action and when: @3 the third time only, %5 five times in a hundred by the seed, neither: always. A place
// stands for all below it as well; of several that fit the first that comes up counts. IMPRESARIO_FAILPOINTS_SEEN names
// a file to which every place is written when it is passed for the first time.
//
// sql.connect, sql.begin, sql.<statement>, sql.text (what is no file), sql.commit.<the transaction's last statement>;
// http.client.connect, write, read, read_body; http.server.accept, read, read_body, write.

#include <chrono>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "platform/async.h"

namespace impresario::platform::failpoint {

/// What is to go wrong at a place. Who is to die is dead by then.
struct Fault {
    /// It fails and is not done.
    bool error = false;
    /// It is done, and whoever asked hears of a failure.
    bool done_then_error = false;
    /// It is done, and the process stands still (SIGSTOP) before anybody hears of it. Of what is asked of the database.
    bool done_then_stop = false;
    std::chrono::milliseconds delay{0};
};

#ifdef IMPRESARIO_FAILPOINTS
inline namespace planted {

/// Passes the place `kind` + `name`. A variable that cannot be read ends the process with 2.
Fault at(std::string_view kind, std::string_view name = {});

/// A socket call with what is planted at its place.
template <class Result>
Task<Result> call(std::string_view place, Task<Result> operation) {
    const Fault fault = at(place);
    if (fault.delay.count() > 0) co_await pause_for(fault.delay);
    const auto failure = asio::error::make_error_code(asio::error::connection_reset);
    if constexpr (std::is_default_constructible_v<Result>) {
        if (fault.error) {
            Result failed{};
            std::get<0>(failed) = failure;
            co_return failed;
        }
    }
    Result result = co_await std::move(operation);
    if (fault.error || fault.done_then_error) std::get<0>(result) = failure;
    co_return result;
}

}
#else
inline namespace absent {

constexpr Fault at(std::string_view, std::string_view = {}) { return {}; }

template <class Result>
Task<Result> call(std::string_view, Task<Result> operation) {
    return operation;
}

}
#endif

}
