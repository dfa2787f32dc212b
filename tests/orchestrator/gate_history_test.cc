#include "orchestrator/gate_history.h"

#include <gtest/gtest.h>

#include <random>

namespace impresario::orchestrator {
namespace gate_history_test {

using domain::Duration;
using domain::Gate;
using domain::GateKind;
using domain::Lane;
using domain::TimePoint;
using std::chrono::milliseconds;
using std::chrono::seconds;

const TimePoint kStart{std::chrono::hours{500000}};
const Lane kLane{"default", "a"};

Gate running(int in_use, int limit = 2) {
    return {GateKind::concurrency, "a", "", {{"in_use", std::to_string(in_use)}, {"limit", std::to_string(limit)}}, {}};
}
Gate paused(std::optional<TimePoint> until = {}) { return {GateKind::paused, "a", "by hand", {}, until}; }

/// A history, the table that it is written to, and the turns between.
struct Book {
    GateHistory history{seconds{1}};
    /// What the statement does with it (orchestrator/sql/write_lane_gate.sql).
    struct Row {
        Gate gate;
        TimePoint since, closed_since;
        std::optional<TimePoint> until;
        int times = 0;
        std::int64_t seen = 0;
        Duration closed{};
    };
    std::vector<Row> rows;
    int stops = 0;
    int opens = 0;
    TimePoint now = kStart;
    Duration passed{};

    void turn(std::optional<Gate> gate, bool held = false, Duration after = milliseconds{100}) {
        now += after;
        for (const auto& each : history.see({{kLane, std::move(gate)}}, now)) passed += each.length;
        write(held);
    }
    void idle() {
        now += milliseconds{100};
        history.see({}, now);
        write(false);
    }
    void write(bool held) {
        const auto writes = history.due(now);
        for (const auto& write : writes) {
            if (held) break;
            stops += write.stops;
            opens += write.opens;
            put(write);
        }
        history.written(writes, held ? std::set<Lane>{} : std::set{kLane}, now);
    }
    void put(const GateWrite& write) {
        for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
            if (row->gate.kind != write.gate.kind || row->gate.subject != write.gate.subject) continue;
            if (row->until && *row->until < write.first - seconds{1}) break;
            row->gate = write.gate;
            row->closed_since = write.closed_since;
            row->until = write.until;
            row->times += write.times;
            row->seen += write.seen;
            row->closed += write.closed;
            return;
        }
        rows.push_back(
            {write.gate, write.first, write.closed_since, write.until, write.times, write.seen, write.closed});
    }
    int open_rows() const {
        return static_cast<int>(std::count_if(rows.begin(), rows.end(), [](const Row& row) { return !row.until; }));
    }
};

TEST(GateHistory, AQuantityIsShownOnceItLastsAndSaysSinceWhen) {
    Book book;
    for (int i = 0; i < 10; ++i) book.turn(running(2));
    EXPECT_TRUE(book.rows.empty());
    book.turn(running(2));
    ASSERT_EQ(book.rows.size(), 1U);
    EXPECT_EQ(book.rows[0].since, kStart + milliseconds{100});
    EXPECT_EQ(book.stops, 1);
    book.turn(std::nullopt);
    ASSERT_TRUE(book.rows[0].until);
    EXPECT_EQ(book.rows[0].closed, milliseconds{1100});
    EXPECT_EQ(book.rows[0].seen, 11);
    EXPECT_EQ(book.opens, 1);
    EXPECT_EQ(book.passed, milliseconds{1100});
}

TEST(GateHistory, APauseIsShownAtOnce) {
    Book book;
    book.turn(paused());
    EXPECT_EQ(book.stops, 1);
    EXPECT_EQ(book.open_rows(), 1);
}

TEST(GateHistory, WhatOpensBeforeItIsShownIsCountedInOneRow) {
    Book book;
    for (int i = 0; i < 200; ++i) {
        book.turn(running(2));
        book.turn(std::nullopt);
    }
    for (int i = 0; i < 60; ++i) book.turn(std::nullopt);
    ASSERT_EQ(book.rows.size(), 1U);
    EXPECT_EQ(book.rows[0].times, 200);
    EXPECT_EQ(book.rows[0].seen, 200);
    EXPECT_EQ(book.rows[0].closed, milliseconds{200 * 100});
    EXPECT_EQ(book.stops, 0);
}

TEST(GateHistory, OtherNumbersLengthenItAndAreWrittenNowAndThen) {
    Book book;
    for (int i = 0; i < 600; ++i) book.turn(running(2 + i));
    ASSERT_EQ(book.rows.size(), 1U);
    EXPECT_EQ(book.stops, 1);
    EXPECT_GE(std::stoi(book.rows[0].gate.numbers[0].second), 500) << "they are renewed";
    book.turn(std::nullopt);
    EXPECT_EQ(book.rows[0].seen, 600);
    EXPECT_EQ(book.rows[0].gate.numbers[0].second, "601") << "as they were at the last";
}

TEST(GateHistory, ALaterOpeningIsTold) {
    Book book;
    book.turn(paused(kStart + seconds{60}));
    book.turn(paused(kStart + seconds{90}));
    EXPECT_EQ(book.stops, 2);
    ASSERT_EQ(book.rows.size(), 1U);
    EXPECT_EQ(book.rows[0].gate.opens_at, kStart + seconds{90});
}

TEST(GateHistory, TheNextSchedulerGoesOnWithItOrEndsIt) {
    Book before;
    before.turn(paused());
    Book after = before;
    after.history = GateHistory(seconds{1});
    after.history.load({{kLane, paused(), before.rows[0].since}});
    after.turn(paused(), false, seconds{30});
    EXPECT_EQ(after.rows.size(), 1U);
    EXPECT_EQ(after.stops, 1) << "it was told already";
    after.turn(std::nullopt);
    EXPECT_EQ(after.rows[0].until, after.now);
    EXPECT_EQ(after.rows[0].closed, after.now - after.rows[0].since);
    EXPECT_EQ(after.passed, milliseconds{100}) << "what passed while another led, or nobody, is not this node's";
}

TEST(GateHistory, WhereNothingWaitsNothingIsStopped) {
    Book book;
    book.turn(paused());
    book.idle();
    EXPECT_EQ(book.open_rows(), 0);
    EXPECT_EQ(book.opens, 1);
}

/// Whatever comes in whatever order, and however often nothing can be written.
TEST(GateHistory, R15NothingIsLostAndAtMostOneIsOpen) {
    for (unsigned seed = 0; seed < 300; ++seed) {
        std::mt19937 random(seed);
        Book book;
        std::int64_t seen = 0;
        Duration closed{};
        bool was = false;
        for (int i = 0; i < 400; ++i) {
            std::optional<Gate> gate;
            switch (random() % 6) {
                case 0:
                    break;
                case 1:
                    gate = paused();
                    break;
                default:
                    gate = running(static_cast<int>(random() % 3));
            }
            const Duration after = milliseconds{random() % 700};
            if (was) closed += after;
            was = gate.has_value();
            seen += gate.has_value();
            book.turn(gate, random() % 3 == 0, after);
            EXPECT_LE(book.open_rows(), 1);
        }
        for (int i = 0; i < 60; ++i) {
            if (was) closed += milliseconds{100};
            was = false;
            book.turn(std::nullopt);
        }
        std::int64_t rows_seen = 0;
        Duration rows_closed{};
        for (const auto& row : book.rows) {
            rows_seen += row.seen;
            rows_closed += row.closed;
            EXPECT_TRUE(row.until);
        }
        EXPECT_EQ(rows_seen, seen) << seed;
        EXPECT_EQ(rows_closed, closed) << seed;
        EXPECT_EQ(book.passed, closed) << seed;
    }
}

}
}
