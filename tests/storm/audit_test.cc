// The audit sees each kind of damage: a good history, spoilt in one way after the other.
#include "tests/storm/audit.h"

#include <gtest/gtest.h>

#include "tests/support/database.h"

namespace impresario::storm {
namespace {

constexpr const char* kExecution = "01890000-0000-7000-8000-000000000001";
constexpr const char* kAttempt = "01890000-0000-7000-8000-0000000000a1";

struct Spoilt {
    const char* sql;
    const char* promise;
};

void PrintTo(const Spoilt& spoilt, std::ostream* out) { *out << spoilt.sql; }

class Audit : public ::testing::TestWithParam<Spoilt> {
  protected:
    /// One execution that has ended as it should.
    Audit() {
        const std::string e = "'" + std::string(kExecution) + "'";
        const std::string a = "'" + std::string(kAttempt) + "'";
        database_.run(
            "insert into executions (execution_id, workflow_type, status, attempts, last_seq, cost_microusd) values (" +
            e + ", 't', 'completed', 1, 2, 1000)");
        database_.run("insert into events (kind, stream_id, seq, organization_id, type) values ('execution', " + e +
                      ", 1, 'default', 'execution.queued'), ('execution', " + e +
                      ", 2, 'default', 'execution.completed')");
        database_.run(
            "insert into attempts (execution_id, number, attempt_id, opening, deliveries, outcome, cost_microusd) "
            "values (" +
            e + ", 1, " + a + ", 1, 1, 'completed', 1000)");
        database_.run(
            "insert into deliveries (execution_id, attempt_id, number, at, duration_us, url, outcome) values (" + e +
            ", " + a + ", 1, now(), 1, 'u', 'accepted')");
        database_.run(
            "insert into workflow_resource_usage (execution_id, resource_type, usage_amount, cost_usd, usage_id) "
            "values (" +
            e + ", 'api_call', 1, 0.001, " + a + " || '/0')");
        database_.run("insert into execution_results (execution_id, opening) values (" + e + ", 1)");
        database_.run(
            "insert into idempotency_keys (organization_id, owner, route, key, body_sha256, status, answer) values "
            "('default', 'o', 'POST /v1/executions', 'k', '', 201, json_build_object('execution_id', " +
            e + "))");
    }

    std::vector<std::string> found() const {
        platform::DatabaseSettings settings;
        settings.url = database_.url();
        platform::Connection connection(settings, nullptr);
        auto all = audit(connection, {{"k", kExecution}});
        Asked asked;
        asked.execution = kExecution;
        asked.attempt = asked.requests = asked.begun = 1;
        const auto more = audit_requests(connection, {{kAttempt, asked}});
        all.insert(all.end(), more.begin(), more.end());
        return all;
    }

    testing::TestDatabase database_;
};

TEST_P(Audit, SeesIt) {
    ASSERT_TRUE(found().empty()) << found().front();
    database_.run(GetParam().sql);
    bool seen = false;
    std::string all;
    for (const auto& line : found()) {
        all += line + "\n";
        seen = seen || line.find(GetParam().promise) != std::string::npos;
    }
    EXPECT_TRUE(seen) << all;
}

INSTANTIATE_TEST_SUITE_P(
    All, Audit,
    ::testing::Values(
        Spoilt{"update executions set status = 'queued'", "every execution ends"},
        Spoilt{"insert into events (kind, stream_id, seq, organization_id, type) select kind, stream_id, 3, "
               "organization_id, type "
               "from events where seq = 2; update executions set last_seq = 3",
               "exactly one outcome"},
        Spoilt{"update executions set status = 'failed'", "exactly one outcome"},
        Spoilt{"update events set seq = 3 where seq = 2", "no gaps"},
        Spoilt{"update executions set attempts = 2", "numbered without gaps"},
        Spoilt{"insert into attempts (execution_id, number, attempt_id, opening, deliveries, outcome) select "
               "gen_random_uuid(), 1, "
               "attempt_id, 1, 1, 'lost' from attempts",
               "one webhook id is one attempt"},
        Spoilt{"update attempts set outcome = 'lost'", "one attempt succeeds"},
        Spoilt{"update executions set timeout_at = now()", "holds nothing"},
        Spoilt{"insert into workflow_resource_usage (execution_id, resource_type, usage_amount, cost_usd, usage_id) "
               "select "
               "execution_id, resource_type, usage_amount, cost_usd, split_part(usage_id, '/', 1) || '/1' from "
               "workflow_resource_usage",
               "settled twice"},
        Spoilt{"update executions set cost_microusd = 2000", "cost is what"},
        Spoilt{"delete from execution_results", "has its result"},
        Spoilt{"insert into deliveries (execution_id, attempt_id, number, at, duration_us, url, outcome) select "
               "execution_id, "
               "attempt_id, 2, at, 1, url, outcome from deliveries",
               "deliveries are logged"},
        Spoilt{"insert into idempotency_keys select organization_id, owner, route, 'other', body_sha256, status, "
               "answer from "
               "idempotency_keys",
               "belongs to one request"},
        Spoilt{"with made as (insert into schedules (organization_id, name, definition, updated_by) values ('default', "
               "'lost', '{}', 'test') returning schedule_id) insert into schedule_runs (schedule_id, due_at, outcome, "
               "execution_id) select schedule_id, now(), 'started', gen_random_uuid() from made",
               "a due time starts one execution"},
        Spoilt{"update idempotency_keys set answer = '{}'", "acknowledged is kept"},
        Spoilt{"update attempts set attempt_id = gen_random_uuid()", "no attempt has it"},
        Spoilt{"insert into budgets (budget_id, name, window_unit, limit_microusd, hard, steps) values "
               "(gen_random_uuid(), 'b', 'day', 1, true, '[]'); insert into budget_balances select budget_id, now(), "
               "now() + interval '1 day', 1 from budgets",
               "sum of its entries"},
        Spoilt{
            "insert into ledger_entries (attempt_id, movement, ordinal, budget_id, execution_id, window_start, "
            "window_end, available, reserved, suspense, settled) select attempt_id, 'reserve', 1, gen_random_uuid(), "
            "execution_id, now(), now() + interval '1 day', -1, 1, 0, 0 from attempts",
            "holds no money"},
        Spoilt{"insert into ledger_inbox (execution_id, attempt_id, settle, pinned_at) select execution_id, "
               "attempt_id, true, now() from attempts",
               "is booked"},
        Spoilt{"update attempts set deliveries = 0", "deliveries counted"}));

}
}
