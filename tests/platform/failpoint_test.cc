// What is planted in the environment happens, there and then and nowhere else. Each case is a process of its own,
// because the environment is read once.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>

#include "platform/failpoint.h"

namespace impresario::platform {
namespace failpoint_test {

using ::testing::ExitedWithCode;
using ::testing::KilledBySignal;

/// Ends the process with 0 where `holds`, with 1 where not.
void check_with(const char* planted, const std::function<bool()>& holds) {
    setenv("IMPRESARIO_FAILPOINTS", planted, 1);
    std::_Exit(holds() ? 0 : 1);
}

class Failpoint : public ::testing::Test {
  protected:
    /// Started anew, because what ran before in this process may have read the environment already.
    Failpoint() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

#define EXPECT_PLANTED(planted, ...) EXPECT_EXIT(check_with(planted, __VA_ARGS__), ExitedWithCode(0), "")

TEST_F(Failpoint, ItsOccurrenceCounts) {
    EXPECT_PLANTED("sql.commit=error@3", [] {
        for (const bool third : {false, false, true, false}) {
            failpoint::at("sql.", "begin");
            if (failpoint::at("sql.", "commit").error != third) return false;
        }
        return true;
    });
}

TEST_F(Failpoint, APercentageComesOutByTheSeed) {
    const auto count = [] {
        int errors = 0;
        for (int i = 0; i < 1000; ++i) errors += failpoint::at("x").error ? 1 : 0;
        return errors;
    };
    EXPECT_PLANTED("x=error%30;seed=7", [&] {
        const int errors = count();
        return errors > 200 && errors < 400;
    });
    EXPECT_PLANTED("x=error%0", [&] { return count() == 0; });
}

TEST_F(Failpoint, APlaceStandsForAllBelowItAndTheFirstThatComesUpCounts) {
    EXPECT_PLANTED("sql.begin=error@2;sql=done_then_error", [] {
        return failpoint::at("sql.", "begin").done_then_error && failpoint::at("sql.", "begin").error &&
               failpoint::at("sql.commit.", "append").done_then_error && !failpoint::at("sqlite").done_then_error;
    });
}

TEST_F(Failpoint, KillIsTheEnd) {
    EXPECT_EXIT(check_with("http.client.write=kill", [] { return failpoint::at("http.client.write").error; }),
                KilledBySignal(SIGKILL), "");
}

TEST_F(Failpoint, WhatCannotBeReadIsNamed) {
    for (const auto* planted : {"sql.commit", "sql.commit=burn", "sql.commit=error@soon", "a=delay(x)", "seed=x"})
        EXPECT_EXIT(check_with(planted, [] { return failpoint::at("x").error; }), ExitedWithCode(2),
                    "IMPRESARIO_FAILPOINTS: ");
}

TEST_F(Failpoint, EveryPlaceIsNotedOnce) {
    const std::string file = "/tmp/impresario-seen-" + std::to_string(getpid());
    setenv("IMPRESARIO_FAILPOINTS_SEEN", file.c_str(), 1);
    EXPECT_PLANTED("", [&] {
        for (int i = 0; i < 2; ++i) failpoint::at("sql.", "begin");
        failpoint::at("http.client.read");
        std::ifstream seen(file);
        std::string first;
        std::string second;
        std::string third;
        return seen >> first && seen >> second && !(seen >> third) && first == "sql.begin" &&
               second == "http.client.read";
    });
    unsetenv("IMPRESARIO_FAILPOINTS_SEEN");
    std::remove(file.c_str());
}

using Written = std::tuple<boost::system::error_code, std::size_t>;

Task<Written> write_something(int* written) {
    ++*written;
    co_return Written(boost::system::error_code{}, 5);
}

/// What a socket call at the place brings, and whether it was made.
std::pair<Written, int> call_at(std::string_view place) {
    asio::io_context io;
    int written = 0;
    Written result;
    asio::co_spawn(io, failpoint::call(place, write_something(&written)),
                   [&](const std::exception_ptr&, Written brought) { result = brought; });
    io.run();
    return {result, written};
}

TEST_F(Failpoint, ASocketCallFailsBeforeOrAfterIt) {
    EXPECT_PLANTED("before=error;after=done_then_error", [] {
        const auto [before, never] = call_at("before");
        const auto [after, once] = call_at("after");
        const auto [well, also] = call_at("elsewhere");
        return std::get<0>(before) && never == 0 && std::get<0>(after) && once == 1 && !std::get<0>(well) && also == 1;
    });
}

TEST_F(Failpoint, ADelayOnlyTakesTime) {
    EXPECT_PLANTED("slow=delay(60)", [] {
        const auto begun = std::chrono::steady_clock::now();
        const auto [result, written] = call_at("slow");
        return written == 1 && !std::get<0>(result) &&
               std::chrono::steady_clock::now() - begun >= std::chrono::milliseconds{60};
    });
}

}
}
