#include "priority_queue/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace impresario::priority_queue {
namespace {

using domain::Duration;
using domain::ExecutionId;
using domain::TimePoint;
using std::chrono::hours;
using std::chrono::minutes;

const TimePoint kNow{hours{500000}};
constexpr Duration kMaxWait = hours{4};

ExecutionId id_of(std::uint32_t n) {
    ExecutionId id;
    for (int i = 0; i < 4; ++i) id.value[static_cast<std::size_t>(15 - i)] = static_cast<std::uint8_t>(n >> (8 * i));
    return id;
}

/// The order by its definition: everything that waits, sorted.
std::vector<ExecutionId> naive(std::vector<Entry> entries, TimePoint now) {
    std::sort(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) {
        const bool a_starves = a.ready_at < now - kMaxWait;
        const bool b_starves = b.ready_at < now - kMaxWait;
        if (a_starves != b_starves) return a_starves;
        if (a_starves) return std::tie(a.ready_at, a.id) < std::tie(b.ready_at, b.id);
        const auto a_score = score(a.priority, a.created_at, now);
        const auto b_score = score(b.priority, b.created_at, now);
        if (a_score != b_score) return a_score > b_score;
        return std::tie(a.created_at, a.id) < std::tie(b.created_at, b.id);
    });
    std::vector<ExecutionId> ids;
    for (const auto& entry : entries) ids.push_back(entry.id);
    return ids;
}

std::vector<ExecutionId> walk(const Order& order, TimePoint now, std::size_t most = 1000000) {
    std::vector<ExecutionId> ids;
    for (Cursor cursor(order, now, kMaxWait); cursor.head() && ids.size() < most; cursor.advance())
        ids.push_back(cursor.head()->id);
    return ids;
}

Entry random_entry(std::mt19937& dice, std::uint32_t n) {
    Entry entry;
    entry.id = id_of(n);
    entry.priority = static_cast<int>(dice() % 101);
    // Ties to the second, ages up to ten hours.
    entry.created_at = kNow - std::chrono::seconds{dice() % 36000};
    entry.ready_at = dice() % 4 == 0 ? entry.created_at + std::chrono::seconds{dice() % 7200} : entry.created_at;
    return entry;
}

TEST(Order, IsTheSortedQueue) {
    for (std::uint32_t seed = 1; seed <= 200; ++seed) {
        std::mt19937 dice(seed);
        Order order;
        std::vector<Entry> entries;
        const auto depth = dice() % 300;
        const auto levels = 1 + dice() % 101;
        for (std::uint32_t n = 0; n < depth; ++n) {
            auto entry = random_entry(dice, n);
            entry.priority = static_cast<int>(static_cast<unsigned>(entry.priority) % levels);
            entries.push_back(entry);
            order.insert(entry);
        }
        // Some leave, some come back at their old place.
        for (std::uint32_t n = 0; n < depth / 3; ++n) {
            const auto at = dice() % entries.size();
            order.erase(entries[at].id);
            if (dice() % 2 == 0) {
                order.insert(entries[at]);
            } else {
                entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(at));
                if (entries.empty()) break;
            }
        }
        const TimePoint now = kNow + std::chrono::seconds{dice() % 20000};
        EXPECT_EQ(walk(order, now), naive(entries, now)) << "seed " << seed;
        EXPECT_EQ(order.size(), entries.size());
        EXPECT_EQ(order.shown(), entries.size());
    }
}

TEST(Order, WhatHasWaitedTooLongGoesFirst) {
    Order order;
    order.insert({id_of(1), 100, kNow, kNow, "", 0, false});
    order.insert({id_of(2), 0, kNow - hours{5}, kNow - hours{5}, "", 0, false});
    order.insert({id_of(3), 0, kNow - hours{6}, kNow - hours{6}, "", 0, false});
    // Old by created_at, but due only since an hour: its score counts, not its wait.
    order.insert({id_of(4), 0, kNow - hours{9}, kNow - hours{1}, "", 0, false});
    EXPECT_EQ(walk(order, kNow), (std::vector<ExecutionId>{id_of(3), id_of(2), id_of(1), id_of(4)}));
}

TEST(Order, AKeyShowsNoMoreThanCouldStart) {
    Order order;
    for (std::uint32_t n = 0; n < 1000; ++n)
        order.insert({id_of(n), 90, kNow + std::chrono::seconds{n}, kNow, "k", 0, false}, 2);
    order.insert({id_of(5000), 10, kNow, kNow, "", 0, false});
    EXPECT_EQ(order.shown(), 3U);
    EXPECT_EQ(order.size(), 1001U);
    EXPECT_EQ(walk(order, kNow), (std::vector<ExecutionId>{id_of(0), id_of(1), id_of(5000)}));
    order.set_free_slots("k", 0);
    EXPECT_EQ(walk(order, kNow), (std::vector<ExecutionId>{id_of(5000)}));
    order.set_free_slots("k", 1);
    EXPECT_EQ(walk(order, kNow), (std::vector<ExecutionId>{id_of(0), id_of(5000)}));
    order.erase(id_of(0));
    EXPECT_EQ(walk(order, kNow), (std::vector<ExecutionId>{id_of(1), id_of(5000)}));
    // An older one takes the place of the one that was shown.
    order.insert({id_of(7000), 90, kNow - hours{1}, kNow, "k", 0, false}, 1);
    EXPECT_EQ(walk(order, kNow).front(), id_of(7000));
    EXPECT_EQ(order.shown(), 2U);
}

TEST(Order, ParkedRowsAreToBeNoted) {
    Order order;
    order.insert({id_of(1), 50, kNow, kNow, "k", 1, false}, 1);
    order.insert({id_of(2), 50, kNow, kNow, "k", 1, false}, 1);
    auto misnoted = order.misnoted(10);
    ASSERT_EQ(misnoted.size(), 1U);
    EXPECT_EQ(misnoted[0].id, id_of(2));
    EXPECT_TRUE(misnoted[0].parked);
    order.insert({id_of(2), 50, kNow, kNow, "k", 2, true}, 1);
    EXPECT_TRUE(order.misnoted(10).empty());
    order.erase(id_of(1));
    misnoted = order.misnoted(10);
    ASSERT_EQ(misnoted.size(), 1U) << "its gate has opened, the row says otherwise";
    EXPECT_FALSE(misnoted[0].parked);
}

// Random keys and slots against the rule itself: of each key the best `free` of everything that waits may be picked.
TEST(Order, WithKeysPicksAsTheRuleSays) {
    for (std::uint32_t seed = 1; seed <= 100; ++seed) {
        std::mt19937 dice(seed);
        Order order;
        std::map<std::string, int> free;
        for (int k = 0; k < 4; ++k) free["k" + std::to_string(k)] = static_cast<int>(dice() % 4);
        std::vector<Entry> entries;
        for (std::uint32_t n = 0; n < 120; ++n) {
            auto entry = random_entry(dice, n);
            // In every second world nothing starves.
            if (seed % 2 == 0) entry.ready_at = kNow;
            if (dice() % 5 != 0) entry.key = "k" + std::to_string(dice() % 4);
            entries.push_back(entry);
            order.insert(entry, entry.key.empty() ? 0 : free[entry.key]);
            if (dice() % 7 == 0) {
                const auto key = "k" + std::to_string(dice() % 4);
                free[key] = static_cast<int>(dice() % 4);
                order.set_free_slots(key, free[key]);
            }
            if (dice() % 9 == 0) {
                const auto at = dice() % entries.size();
                order.erase(entries[at].id);
                entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(at));
            }
        }
        auto left = free;
        std::vector<ExecutionId> expected;
        std::map<ExecutionId, std::string> key_of;
        for (const auto& entry : entries) key_of[entry.id] = entry.key;
        for (const auto& id : naive(entries, kNow))
            if (key_of[id].empty() || left[key_of[id]]-- > 0) expected.push_back(id);
        std::vector<ExecutionId> picked;
        auto slots = free;
        for (Cursor cursor(order, kNow, kMaxWait); cursor.head(); cursor.advance()) {
            const auto& head = *cursor.head();
            if (head.key && slots[*head.key]-- <= 0) continue;
            picked.push_back(head.id);
        }
        EXPECT_EQ(picked, expected) << "seed " << seed;
    }
}

TEST(Order, WhatHasWaitedTooLongGoesFirstBehindAKeyToo) {
    Order order;
    // A retry that rejoined at its old age, and two that have waited longer since they became due.
    order.insert({id_of(1), 50, kNow - hours{9}, kNow, "k", 0, false}, 1);
    order.insert({id_of(2), 50, kNow - hours{6}, kNow - hours{5}, "k", 0, false}, 1);
    order.insert({id_of(3), 0, kNow - hours{7}, kNow - hours{6}, "k", 0, false}, 1);
    EXPECT_EQ(walk(order, kNow).front(), id_of(3));
    EXPECT_EQ(order.oldest_ready(), kNow - hours{6});
    order.erase(id_of(3));
    EXPECT_EQ(walk(order, kNow).front(), id_of(2));
    order.set_free_slots("k", 0);
    EXPECT_TRUE(walk(order, kNow).empty());
    order.set_free_slots("k", 2);
    EXPECT_EQ(walk(order, kNow), (std::vector<ExecutionId>{id_of(2), id_of(1)}));
}

/// The table behind a window: what a refill would read.
class Table {
  public:
    std::map<std::tuple<int, TimePoint, ExecutionId>, Entry> rows;
    std::vector<Entry> after(const Order::Refill& refill) const {
        std::vector<Entry> found;
        for (auto at = rows.upper_bound({refill.priority, refill.after_created_at, refill.after_id});
             at != rows.end() && std::get<0>(at->first) == refill.priority && found.size() < refill.count; ++at)
            found.push_back(at->second);
        return found;
    }
};

TEST(Order, AWindowOverADeepLevelLosesNothing) {
    for (std::uint32_t seed = 1; seed <= 50; ++seed) {
        std::mt19937 dice(seed);
        Order order(20);
        Table table;
        std::uint32_t n = 0;
        const auto add = [&] {
            Entry entry = random_entry(dice, n++);
            entry.priority = static_cast<int>(dice() % 2) * 50;
            entry.ready_at = kNow;
            table.rows[{entry.priority, entry.created_at, entry.id}] = entry;
            order.insert(entry);
        };
        for (int i = 0; i < 300; ++i) add();
        EXPECT_LE(order.shown(), 42U);
        EXPECT_EQ(order.size(), 300U);
        std::vector<ExecutionId> picked;
        while (!table.rows.empty()) {
            while (const auto refill = order.wants_refill()) {
                const auto rows = table.after(*refill);
                // Rows keep arriving while the table is read.
                if (dice() % 3 == 0) add();
                order.refill(*refill, rows, rows.size() < refill->count, [](const std::string&) { return 0; });
            }
            std::vector<Entry> all;
            for (const auto& [place, entry] : table.rows) all.push_back(entry);
            const auto best = naive(all, kNow).front();
            const auto walked = walk(order, kNow, 1);
            ASSERT_FALSE(walked.empty()) << "seed " << seed << ": " << table.rows.size() << " are left in the table";
            ASSERT_EQ(walked.front(), best) << "seed " << seed;
            picked.push_back(best);
            order.erase(best);
            std::erase_if(table.rows, [&](const auto& row) { return row.second.id == best; });
        }
        EXPECT_EQ(order.shown(), 0U);
    }
}

TEST(Order, StartsFromCountsAlone) {
    Order order(100);
    Table table;
    std::mt19937 dice(7);
    std::map<int, std::size_t> counts;
    for (std::uint32_t n = 0; n < 1000; ++n) {
        Entry entry = random_entry(dice, n);
        entry.priority = static_cast<int>(dice() % 5) * 20;
        table.rows[{entry.priority, entry.created_at, entry.id}] = entry;
        ++counts[entry.priority];
    }
    for (const auto& [priority, count] : counts) order.expect(priority, count);
    EXPECT_EQ(order.size(), 1000U);
    while (const auto refill = order.wants_refill()) {
        const auto rows = table.after(*refill);
        order.refill(*refill, rows, rows.size() < refill->count, [](const std::string&) { return 0; });
    }
    EXPECT_EQ(order.size(), 1000U);
    EXPECT_GE(order.shown(), 250U);
}

/// A scheduler starts while rows arrive, some of them noted as stopped by their key (those are read apart, and no
/// refill brings them): whatever comes first, nothing is left behind.
TEST(Order, StartsWhileRowsArriveAndLosesNothing) {
    for (std::uint32_t seed = 1; seed <= 500; ++seed) {
        std::mt19937 dice(seed);
        Order order(10);
        Table table;
        std::vector<Entry> all;
        std::vector<Entry> gated;
        std::map<std::string, int> free{{"a", 1}, {"b", 0}, {"c", 3}};
        const auto slots = [&](const std::string& key) { return free.at(key); };
        std::uint32_t n = 0;
        const auto arrive = [&] {
            Entry entry = random_entry(dice, n++);
            entry.priority = static_cast<int>(dice() % 2) * 50;
            entry.ready_at = kNow;
            if (dice() % 2) entry.key = std::string(1, static_cast<char>('a' + dice() % 3));
            entry.gated = !entry.key.empty() && dice() % 3 == 0;
            all.push_back(entry);
            if (!entry.gated) table.rows[{entry.priority, entry.created_at, entry.id}] = entry;
            return entry;
        };
        const auto seen = [&](const Entry& entry) { order.insert(entry, entry.key.empty() ? 0 : free.at(entry.key)); };
        // Committed before it began; then more, which are seen before what was read is known.
        for (unsigned i = dice() % 60; i > 0; --i) {
            const auto entry = arrive();
            if (entry.gated) gated.push_back(entry);
        }
        std::map<int, std::size_t> counts;
        for (const auto& [place, entry] : table.rows) ++counts[entry.priority];
        for (unsigned i = dice() % 10; i > 0; --i) seen(arrive());
        for (const auto& entry : gated) seen(entry);
        for (const auto& [priority, count] : counts) order.expect(priority, count);
        std::vector<ExecutionId> picked;
        while (!all.empty()) {
            if (n < 120 && dice() % 4 == 0) seen(arrive());
            while (const auto refill = order.wants_refill()) {
                const auto rows = table.after(*refill);
                if (n < 120 && dice() % 3 == 0) seen(arrive());
                order.refill(*refill, rows, rows.size() < refill->count, slots);
            }
            // Of each key and level only the oldest may start, and only if it has room.
            std::vector<Entry> possible;
            for (const auto& entry : all)
                if (entry.key.empty() || free.at(entry.key) > 0) possible.push_back(entry);
            if (possible.empty()) {
                for (auto& [key, count] : free) order.set_free_slots(key, count = 1 + static_cast<int>(dice() % 2));
                continue;
            }
            const auto best = naive(possible, kNow).front();
            const auto walked = walk(order, kNow, 1);
            ASSERT_FALSE(walked.empty()) << "seed " << seed << ": " << all.size() << " are left behind";
            ASSERT_EQ(walked.front(), best) << "seed " << seed;
            order.erase(best);
            std::erase_if(all, [&](const auto& entry) { return entry.id == best; });
            std::erase_if(table.rows, [&](const auto& row) { return row.second.id == best; });
        }
        EXPECT_EQ(order.shown(), 0U) << "seed " << seed;
    }
}

}
}
