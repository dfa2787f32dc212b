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

/// What is held is left out, hides nobody behind a key, and comes back where it belongs.
TEST(Order, WhatIsHeldWaitsApart) {
    for (std::uint32_t seed = 1; seed <= 200; ++seed) {
        std::mt19937 dice(seed);
        Order order;
        std::map<ExecutionId, Entry> all;
        std::array<domain::BatchId, 3> batches;
        for (std::size_t i = 0; i < batches.size(); ++i) batches[i].value[15] = static_cast<std::uint8_t>(i + 1);
        std::map<domain::BatchId, int> held;
        int below = 0;
        const auto slots = [](const std::string&) { return 1; };
        for (std::uint32_t step = 0; step < 300; ++step) {
            switch (dice() % 6) {
                case 0:
                case 1:
                case 2: {
                    auto entry = random_entry(dice, dice() % 60);
                    if (dice() % 2) entry.batch = batches[dice() % 3];
                    if (dice() % 3 == 0) entry.key = std::string(1, static_cast<char>('a' + dice() % 3));
                    order.insert(entry, 1);
                    all[entry.id] = entry;
                    break;
                }
                case 3: {
                    const auto id = id_of(dice() % 60);
                    EXPECT_EQ(order.erase(id), all.erase(id) == 1);
                    break;
                }
                case 4: {
                    const auto& batch = batches[dice() % 3];
                    held[batch] = dice() % 2 ? Order::kAll : static_cast<int>(dice() % 101);
                    if (dice() % 3 == 0) held[batch] = 0;
                    order.hold_below(batch, held[batch], slots);
                    break;
                }
                default:
                    below = dice() % 2 ? 0 : static_cast<int>(dice() % 101);
                    order.hold_below(below, slots);
            }
            std::vector<Entry> free;
            for (const auto& [id, entry] : all) {
                const bool out = entry.priority < below || (entry.batch && entry.priority < held[*entry.batch]);
                ASSERT_EQ(order.holds(id), out);
                if (!out) free.push_back(entry);
            }
            for (const auto& batch : batches) {
                std::optional<std::pair<TimePoint, ExecutionId>> eldest;
                for (const auto& [id, entry] : all)
                    if (entry.batch == batch && (!eldest || std::pair{entry.ready_at, id} < *eldest))
                        eldest = {entry.ready_at, id};
                const auto found = order.eldest_of(batch, kNow, hours{4});
                ASSERT_EQ(found.has_value(), eldest.has_value());
                if (found) ASSERT_EQ(found->id, eldest->second);
            }
            // Of each key the first that comes is the one there is a slot for.
            std::map<ExecutionId, std::string> key_of;
            for (const auto& entry : free) key_of[entry.id] = entry.key;
            const auto first_of_keys = [&](const std::vector<ExecutionId>& ids) {
                std::set<std::string> seen;
                std::vector<ExecutionId> first;
                for (const auto& id : ids)
                    if (key_of.at(id).empty() || seen.insert(key_of.at(id)).second) first.push_back(id);
                return first;
            };
            ASSERT_EQ(first_of_keys(walk(order, kNow)), first_of_keys(naive(free, kNow))) << "seed " << seed;
            ASSERT_EQ(order.size(), all.size());
        }
    }
}

TEST(Order, KeepsWhatInputsSayOnce) {
    Order order(2);
    const auto says = [&](std::uint32_t n, const std::string& what, const std::string& key = "") {
        Entry entry{id_of(n), 50, kNow + std::chrono::seconds{n}, kNow, key, 0, false};
        entry.need_amounts = what;
        return entry;
    };
    order.insert(says(1, "12 calls p"), 0);
    order.insert(says(2, "12 calls p"), 0);
    Cursor cursor(order, kNow, hours{4});
    const auto* first = cursor.head()->need_amounts;
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(*first, "12 calls p");
    cursor.advance();
    EXPECT_EQ(cursor.head()->need_amounts, first);
    // One that goes, is cut off by the window, or comes back held, leaves the others theirs.
    order.insert(says(3, "3 calls p"), 0);
    order.erase(id_of(1));
    order.hold_below(60, [](const std::string&) { return 0; });
    order.hold_below(0, [](const std::string&) { return 0; });
    EXPECT_EQ(*Cursor(order, kNow, hours{4}).head()->need_amounts, "12 calls p");
    order.insert(says(2, ""), 0);
    EXPECT_EQ(Cursor(order, kNow, hours{4}).head()->need_amounts, nullptr);
}

// Random groups, opened and closed, against the rule: what waits in an open one is there as if there were none.
TEST(Order, ByLimitsShowsWhatIsOpenInExactOrder) {
    const auto no_keys = [](const std::string&) { return 0; };
    for (std::uint32_t seed = 1; seed <= 60; ++seed) {
        std::mt19937 dice(seed);
        Order order;
        // Some were there before a limit had a key.
        if (seed % 2 == 0) order.keep_by_limits(true, no_keys);
        std::map<std::string, bool> open;
        std::vector<Entry> entries;
        for (std::uint32_t n = 0; n < 150; ++n) {
            auto entry = random_entry(dice, n);
            if (dice() % 5 != 0) entry.limit_keys = "/k\tk" + std::to_string(dice() % 4);
            entries.push_back(entry);
            order.insert(entry);
            if (n == 60) order.keep_by_limits(true, no_keys);
            if (dice() % 7 == 0 && order.by_limits()) {
                const auto& group = entries[dice() % entries.size()].limit_keys;
                open[group] = dice() % 3 != 0;
                order.show({"", group}, open[group] ? Order::kShownOfGroup : 0, Order::Noting::parked);
                open[group] = open[group] && order.has(Order::Group{"", group});
            }
            if (dice() % 9 == 0) {
                const auto at = dice() % entries.size();
                order.erase(entries[at].id);
                const auto left = entries[at].limit_keys;
                entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(at));
                // One that comes again is closed until somebody has looked.
                if (!order.has(Order::Group{"", left})) open[left] = false;
            }
        }
        std::vector<Entry> seen;
        std::map<std::string, std::vector<Entry>> groups;
        for (const auto& entry : entries) {
            if (open[entry.limit_keys]) seen.push_back(entry);
            groups[entry.limit_keys].push_back(entry);
        }
        EXPECT_EQ(walk(order, kNow), naive(seen, kNow)) << "seed " << seed;
        EXPECT_EQ(order.size(), entries.size());
        std::size_t parked = 0;
        for (const auto& [limit_keys, of_it] : groups) {
            const auto first = order.first_of({"", limit_keys}, kNow, kMaxWait);
            ASSERT_TRUE(first) << "seed " << seed;
            EXPECT_EQ(first->id, naive(of_it, kNow).front()) << "seed " << seed;
            if (!open[limit_keys]) {
                order.show({"", limit_keys}, 0, Order::Noting::parked);
                parked += of_it.size();
            }
        }
        EXPECT_EQ(order.misnoted(1000).size(), parked) << "seed " << seed;
        order.keep_by_limits(false, no_keys);
        EXPECT_EQ(walk(order, kNow), naive(entries, kNow)) << "seed " << seed;
    }
}

TEST(Order, WhatIsBehindAKeyForAMomentOnlyIsNotNoted) {
    Order order;
    order.keep_by_limits(true, [](const std::string&) { return 0; });
    const Order::Group group{"", "/k\ta"};
    Entry entry{id_of(1), 50, kNow, kNow, "", 1, false};
    entry.limit_keys = group.limit_keys;
    order.insert(entry);
    EXPECT_EQ(order.take_changed_groups(), std::set<Order::Group>{group});
    EXPECT_EQ(order.shown(), 0U) << "nobody has looked yet";
    EXPECT_TRUE(order.misnoted(10).empty());
    order.show(group, 0, Order::Noting::parked);
    ASSERT_EQ(order.misnoted(10).size(), 1U);
    EXPECT_EQ(order.misnoted(10)[0].group, group);
    // Its row says so now; it opens for a moment.
    entry.seq = 2;
    entry.gated = true;
    order.insert(entry);
    order.show(group, Order::kShownOfGroup, Order::Noting::nobody);
    EXPECT_EQ(order.shown(), 1U);
    EXPECT_TRUE(order.misnoted(10).empty());
    order.show(group, Order::kShownOfGroup, Order::Noting::shown);
    ASSERT_EQ(order.misnoted(10).size(), 1U);
    EXPECT_FALSE(order.misnoted(10)[0].parked);
    order.erase(id_of(1));
    EXPECT_TRUE(order.misnoted(10).empty());
    EXPECT_FALSE(order.has(group));
}

TEST(Order, ClosingADeepGroupCostsWhatItShows) {
    Order order;
    order.keep_by_limits(true, [](const std::string&) { return 0; });
    const Order::Group group{"", "/k\ta"};
    for (std::uint32_t n = 0; n < 20'000; ++n) {
        Entry entry{id_of(n), 50, kNow + std::chrono::seconds{n}, kNow, "", 0, false};
        entry.limit_keys = group.limit_keys;
        order.insert(entry);
    }
    order.show(group, Order::kShownOfGroup, Order::Noting::nobody);
    EXPECT_EQ(order.shown(), static_cast<std::size_t>(Order::kShownOfGroup));
    EXPECT_EQ(walk(order, kNow, 1), std::vector{id_of(0)});
    order.show(group, 0, Order::Noting::nobody);
    EXPECT_EQ(order.shown(), 0U);
}

}
}
