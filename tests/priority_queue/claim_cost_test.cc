// What a claim costs must not depend on how much waits. Two databases, measured in turns, so that whatever else the
// machine does happens to both.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <iostream>

#include "priority_queue/queue_store.h"
#include "tests/support/database.h"

namespace impresario::priority_queue {
namespace {

using domain::ExecutionId;
using platform::Tx;
using testing::TestDatabase;

constexpr int kClaim = 50;
const domain::Lane kLane{"default", "seo_monitor"};

/// A database with `depth` rows that wait, spread over all levels and four hours.
class Queue {
  public:
    explicit Queue(int depth) {
        // In parts, so that a slow machine is slow instead of running into a statement's time limit.
        constexpr int kPart = 100'000;
        for (int from = 1; from <= depth; from += kPart)
            database_.run(
                "insert into executions (execution_id, organization_id, workflow_type, status, priority, created_at, "
                "  scheduled_at, ready, ready_at, last_seq) "
                "select uuid_v7(), 'default', 'seo_monitor', 'queued', (i * 7919) % 101, at, at, true, at, 1 from ("
                "  select i, now() - interval '4 hours' * ((i * 104729) % 1000003) / 1000003.0 as at "
                "  from generate_series(" +
                std::to_string(from) + "::bigint, " + std::to_string(std::min(depth, from + kPart - 1)) + ") i) s");
        database_.run(
            "insert into execution_inputs (execution_id, input_data) "
            "select execution_id, '{\"pages\": [\"https://example.com/\"]}' from executions");
        platform::DatabaseSettings settings;
        settings.url = database_.url();
        settings.statement_timeout = std::chrono::minutes{2};
        platform::Connection(settings, nullptr).autocommit([](Tx& tx) {
            tx.run("vacuum analyze executions, execution_inputs");
        });
        fill_order();
    }

    /// Picks 50 out of memory, confirms and writes them: what a turn does. Rolled back. In milliseconds.
    double claim_by_id() {
        return timed([&](Tx&, domain::TimePoint now) {
            std::vector<ExecutionId> ids;
            for (Cursor cursor(*order_, now, std::chrono::hours{4}); cursor.head() && ids.size() < kClaim;
                 cursor.advance())
                ids.push_back(cursor.head()->id);
            return ids;
        });
    }
    /// The same with the order that SQL computes.
    double claim_by_table() {
        return timed([&](Tx& tx, domain::TimePoint now) { return store_.first_by_table(tx, kLane, kClaim, now); });
    }

  private:
    struct Undo {};

    template <class Pick>
    double timed(Pick pick) {
        double took = 0;
        try {
            database_.transact([&](Tx& tx) {
                const auto clock = tx.run("select now()");
                const auto now = platform::RowReader(clock, 0).time();
                const auto begun = std::chrono::steady_clock::now();
                const auto ids = pick(tx, now);
                auto locked = store_.lock_claimable(tx, ids);
                std::vector<const domain::Execution*> rows;
                for (auto& each : locked) {
                    each.execution.status = domain::Status::dispatching;
                    each.execution.ready = false;
                    each.execution.ready_at.reset();
                    rows.push_back(&each.execution);
                }
                store_.write(tx, rows);
                took = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begun).count();
                EXPECT_EQ(rows.size(), static_cast<std::size_t>(kClaim));
                throw Undo{};
            });
        } catch (const Undo&) {
        }
        return took;
    }

    void fill_order() {
        order_ = std::make_unique<Order>();
        database_.transact([&](Tx& tx) {
            for (const auto& level : store_.count_levels(tx)) order_->expect(level.priority, level.count);
            const auto free = [](const std::string&) { return 0; };
            while (const auto wanted = order_->wants_refill()) {
                const auto rows = store_.load_level(tx, kLane, *wanted);
                order_->refill(*wanted, rows, rows.size() < wanted->count, free);
            }
        });
    }

    TestDatabase database_;
    const QueueStore store_{};
    std::unique_ptr<Order> order_;
};

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
    return values[values.size() / 2];
}

TEST(ClaimCost, IsTheSameAtAMillionAsAtAThousand) {
    Queue shallow(1'000);
    Queue deep(1'000'000);
    std::vector<double> by_id[2];
    std::vector<double> by_table[2];
    for (int round = 0; round < 60; ++round) {
        // The first rounds warm the caches.
        for (const bool is_deep : {false, true}) {
            Queue& queue = is_deep ? deep : shallow;
            const double id = queue.claim_by_id();
            const double table = queue.claim_by_table();
            if (round < 10) continue;
            by_id[is_deep].push_back(id);
            by_table[is_deep].push_back(table);
        }
    }
    std::cout << "claim of " << kClaim << ", median of 50, ms: by id " << median(by_id[0]) << " at 1,000 and "
              << median(by_id[1]) << " at 1,000,000; by the table's order " << median(by_table[0]) << " and "
              << median(by_table[1]) << "\n";
    EXPECT_LE(median(by_id[1]), 1.5 * median(by_id[0]));
    EXPECT_LE(median(by_table[1]), 1.5 * median(by_table[0]));
}

}
}
