// Each check of fsck sees its damage and no other sees it: a good history, spoilt in one way after the other.
#include "orchestrator/fsck.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/database.h"

namespace impresario::orchestrator {
namespace fsck_test {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Spoilt {
    const char* sql;
    const char* check;
    const char* says;
};

void PrintTo(const Spoilt& spoilt, std::ostream* out) { *out << spoilt.sql; }

class FsckTest : public ::testing::TestWithParam<Spoilt> {
  protected:
    /// An execution that has ended as it should after a try that failed, and one that runs, with a budget for both.
    FsckTest() {
        database_.run(R"(
            insert into workflow_types (organization_id, name) values ('default', 't');
            insert into nodes (node, name, hub_version, state, started_at, lease_until) values
                ('01890000-0000-7000-8000-00000000000f', 'n', 1, 'delivering', now() - interval '1 day', now() + interval '15 seconds');
            update scheduler set node = '01890000-0000-7000-8000-00000000000f', lease_until = now() + interval '15 seconds';
            insert into executions (execution_id, workflow_type, status, attempts, retry_count, last_seq, cost_microusd, completed_at)
            values ('01890000-0000-7000-8000-000000000001', 't', 'completed', 2, 1, 3, 1000, now());
            insert into executions (execution_id, workflow_type, status, attempts, last_seq, attempt_id, attempt_state, timeout_at,
                                    attempt_reserved_microusd)
            values ('01890000-0000-7000-8000-000000000002', 't', 'running', 1, 1, '01890000-0000-7000-8000-0000000000a3', 'accepted',
                    now() + interval '1 hour', 5000);
            insert into events (kind, stream_id, seq, organization_id, type) values
                ('execution', '01890000-0000-7000-8000-000000000001', 1, 'default', 'execution.queued'),
                ('execution', '01890000-0000-7000-8000-000000000001', 2, 'default', 'execution.retrying'),
                ('execution', '01890000-0000-7000-8000-000000000001', 3, 'default', 'execution.completed'),
                ('execution', '01890000-0000-7000-8000-000000000002', 1, 'default', 'execution.dispatched');
            insert into attempts (execution_id, number, attempt_id, opening, deliveries, outcome, cost_microusd) values
                ('01890000-0000-7000-8000-000000000001', 1, '01890000-0000-7000-8000-0000000000a1', 1, 1, 'failed', null),
                ('01890000-0000-7000-8000-000000000001', 2, '01890000-0000-7000-8000-0000000000a2', 1, 1, 'completed', 1000);
            insert into deliveries (execution_id, attempt_id, number, at, duration_us, url, outcome) values
                ('01890000-0000-7000-8000-000000000001', '01890000-0000-7000-8000-0000000000a2', 1, now(), 1, 'u', 'accepted');
            insert into workflow_resource_usage (execution_id, resource_type, usage_amount, cost_usd, usage_id) values
                ('01890000-0000-7000-8000-000000000001', 'api_call', 1, 0.001, '01890000-0000-7000-8000-0000000000a2/0'),
                ('01890000-0000-7000-8000-000000000001', 'api_call', 1, 7, 'beside it');
            insert into execution_results (execution_id, opening) values ('01890000-0000-7000-8000-000000000001', 1);
            insert into budgets (budget_id, name, scope_organization, window_unit, limit_microusd, hard, steps) values
                ('01890000-0000-7000-8000-0000000000b1', 'day', 'default', 'day', 1000000, true, '[]');
            insert into ledger_entries (attempt_id, movement, ordinal, budget_id, execution_id, window_start, window_end,
                                        available, reserved, suspense, settled) values
                ('01890000-0000-7000-8000-0000000000a2', 'settle', 0, '01890000-0000-7000-8000-0000000000b1',
                 '01890000-0000-7000-8000-000000000001', '2026-01-01', '2026-01-02', -1000, 0, 0, 1000),
                ('01890000-0000-7000-8000-0000000000a3', 'reserve', 0, '01890000-0000-7000-8000-0000000000b1',
                 '01890000-0000-7000-8000-000000000002', '2026-01-01', '2026-01-02', -5000, 5000, 0, 0);
            insert into budget_balances values ('01890000-0000-7000-8000-0000000000b1', '2026-01-01', '2026-01-02', 1000, 5000, 0);
            insert into permits (attempt_id, fence, execution_id, organization_id, workflow_type, delivery, providers, calls, tokens,
                                 items, cost_microusd, lease_until)
            values ('01890000-0000-7000-8000-0000000000a3', 0, '01890000-0000-7000-8000-000000000002', 'default', 't', 1,
                    '{gemini}', '{1}', '{0}', '{0}', '{0}', now()))");
    }

    /// "check: subject what" of everything that is found.
    std::vector<std::string> found() const {
        std::vector<std::string> lines;
        database_.transact([&](platform::Tx& tx) {
            lines.clear();
            for (const auto& check : Fsck::checks()) {
                const auto checked = Fsck().look(tx, check);
                EXPECT_EQ(checked.found, static_cast<std::int64_t>(checked.findings.size()));
                for (const auto& each : checked.findings)
                    lines.push_back(std::string(check.name) + ": " + each.subject + " " + each.what);
            }
        });
        return lines;
    }

    testing::TestDatabase database_;
};

TEST_P(FsckTest, SeesIt) {
    ASSERT_THAT(found(), IsEmpty());
    database_.run(GetParam().sql);
    const auto lines = found();
    bool seen = false;
    for (const auto& line : lines)
        seen = seen || (line.starts_with(std::string(GetParam().check) + ": ") &&
                        line.find(GetParam().says) != std::string::npos);
    EXPECT_TRUE(seen) << ::testing::PrintToString(lines);
}

INSTANTIATE_TEST_SUITE_P(
    All, FsckTest,
    ::testing::Values(
        Spoilt{"update scheduler set lease_until = now() + interval '1 year'", "scheduler", "longer than any lease"},
        Spoilt{"delete from orchestrator_state", "scheduler", "has 0 rows"},
        Spoilt{"delete from attempts where number = 1", "attempts", "counts 2 attempts, 0 of them live, and keeps 1"},
        Spoilt{"update attempts set number = 7 where number = 1", "attempts", "up to number 7"},
        Spoilt{"insert into attempts (execution_id, number, attempt_id, opening, deliveries, outcome) "
               "select execution_id, 1, attempt_id, 1, 1, 'lost' from executions where attempt_id is not null",
               "attempt_ids", "is 2 attempts"},
        Spoilt{"update attempts set deliveries = 0", "deliveries", "counts 0 deliveries and logs 1"},
        Spoilt{"update executions set timeout_at = null", "slots", "holds a slot without a deadline"},
        Spoilt{
            "update executions set attempt_id = null, attempt_state = null, timeout_at = null where status = 'running'",
            "slots", "nothing will ever move it"},
        Spoilt{"update executions set status = 'queued' where status = 'running'", "slots", "while an attempt"},
        Spoilt{"insert into executions (execution_id, workflow_type, status) values (gen_random_uuid(), 't', 'queued')",
               "slots", "nobody will take it"},
        Spoilt{"update executions set timeout_at = now() where status = 'completed'", "ended", "a deadline"},
        Spoilt{"update executions set open_children = 1, updated_at = now() - interval '1 hour' where status = "
               "'completed'",
               "ended", "1 children"},
        Spoilt{"update events set type = 'execution.failed' where type = 'execution.completed'", "outcomes",
               "is completed in its opening 1, and its events tell of 1 outcomes, the last execution.failed"},
        Spoilt{"update executions set opening = 2 where status = 'running'", "outcomes", "tell of 0 outcomes"},
        Spoilt{"delete from execution_results", "results", "has no result"},
        Spoilt{"update executions set status = 'dead' where status = 'completed'", "results", "has no dead letter"},
        Spoilt{"update executions set retry_count = 4 where status = 'running'", "retries", "after 4 failures"},
        Spoilt{"update executions set open_children = 1 where status = 'running'", "children", "all of them ended"},
        Spoilt{"update executions set timeout_at = now() - interval '11 minutes' where status = 'running'", "overdue",
               "its deadline passed 11 minutes ago"},
        Spoilt{"insert into ledger_inbox (execution_id, attempt_id, settle, pinned_at, at) values (gen_random_uuid(), "
               "gen_random_uuid(), true, now(), now() - interval '1 hour')",
               "overdue", "is not booked"},
        Spoilt{"update budget_balances set reserved = 0", "balances",
               "are 0.001000, 0.000000, 0.000000 USD, its entries say 0.001000, 0.005000, 0.000000"},
        Spoilt{"delete from budget_balances", "balances", "no balance"},
        Spoilt{"insert into ledger_entries (attempt_id, movement, ordinal, budget_id, execution_id, window_start, "
               "window_end, "
               "available, reserved, suspense, settled) select attempt_id, 'release', 1, budget_id, execution_id, "
               "window_start, "
               "window_end, 6000, -6000, 0, 0 from ledger_entries where movement = 'reserve'",
               "entries", "reserved -0.001000"},
        Spoilt{"update executions set attempt_id = gen_random_uuid() where status = 'running'", "held_money",
               "is closed, and budget day holds 0.005000 USD reserved"},
        Spoilt{"update executions set attempt_state = 'waiting_redelivery', timeout_at = null where status = 'running'",
               "held_money", "waits to be sent again"},
        Spoilt{"update executions set attempt_id = gen_random_uuid() where status = 'running'", "reservations",
               "no reservation"},
        Spoilt{"update executions set cost_microusd = 999 where status = 'completed'", "costs",
               "costs 0.000999 USD, its attempts 0.001000, and 0.001000"},
        Spoilt{"update permits set attempt_id = gen_random_uuid()", "permits", "no such attempt"},
        Spoilt{"delete from events where seq = 2", "events", "is at event 3 and has 2, from 1 to 3"},
        Spoilt{
            "delete from events where seq = 2; insert into events (event_id, kind, stream_id, seq, organization_id, "
            "type) "
            "values (1500000, 'execution', '01890000-0000-7000-8000-000000000001', 1, 'default', 'execution.retrying')",
            "events", "is at event 3 and has 3, from 1 to 3"},
        Spoilt{"update executions set events_after = 1000 where status = 'completed'", "events",
               "none is looked for before 1001"},
        Spoilt{"insert into events (event_id, kind, stream_id, seq, organization_id, type) select 1500000, 'lane', "
               "lane_id, 1, "
               "'default', 'lane.changed' from workflow_types where name = 't'; update workflow_types set last_seq = 2 "
               "where "
               "name = 't'; update events set seq = 2 where event_id = 1500000; insert into events (event_id, kind, "
               "stream_id, "
               "seq, organization_id, type) select 1500001, 'lane', lane_id, 1, 'default', 'lane.changed' from "
               "workflow_types "
               "where name = 't'; update workflow_types set last_seq = 3 where name = 't'; update events set seq = 3 "
               "where "
               "event_id = 1500000",
               "streams", "is at event 3 and has 3, from 1 to 3"},
        Spoilt{"insert into forgotten_events select lane_id, 2 from workflow_types where name = 't'", "streams",
               "has 1, from 1 to 1, those up to 2 gone"},
        Spoilt{"update retention set events_until = 1000000; delete from events where kind = 'lane'", "streams",
               "is at event 1 and has 0"},
        Spoilt{"update workflow_types set last_seq = 2 where name = 't'", "streams", "is at event 2 and has 1"},
        Spoilt{"update budgets set last_seq = 2", "streams", "budget day is at event 2 and has 1"}));

TEST_F(FsckTest, OfEachLaneOneComesBeforeAnySecond) {
    database_.run(
        "insert into executions (execution_id, workflow_type, status, completed_at) "
        "select gen_random_uuid(), 'many', 'dead', now() from generate_series(1, 150) "
        "union all select gen_random_uuid(), 'one', 'dead', now()");
    database_.transact([&](platform::Tx& tx) {
        const auto checked = Fsck().look(tx, *Fsck::find("results"));
        EXPECT_EQ(checked.found, 151);
        ASSERT_EQ(checked.findings.size(), 100U);
        EXPECT_EQ(checked.findings[0].lane.workflow_type, "many");
        EXPECT_EQ(checked.findings[1].lane.workflow_type, "one");
    });
}

}
}
