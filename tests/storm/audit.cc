#include "tests/storm/audit.h"

namespace impresario::storm {

using platform::Connection;
using platform::Params;
using platform::RowReader;
using platform::Tx;

namespace {

struct Check {
    const char* promise;
    /// Each row breaks it: its first column tells how.
    const char* sql;
};

constexpr Check kChecks[] = {
    {"every execution ends", R"(
        select execution_id || ' is ' || status || coalesce(' ' || attempt_state, '') from executions
        where status not in ('completed', 'failed', 'cancelled', 'dead'))"},
    {"it has exactly one outcome for each opening, and its status is the last", R"(
        select e.execution_id || ' is ' || e.status || ' and has the outcomes ' || coalesce(string_agg(v.type, ' ' order by v.seq), '-')
        from executions e left join events v on v.kind = 'execution' and v.stream_id = e.execution_id
            and v.type in ('execution.completed', 'execution.failed', 'execution.cancelled', 'execution.dead')
        where e.status in ('completed', 'failed', 'cancelled', 'dead')
        group by e.execution_id
        having count(v.seq) <> e.opening
            or (array_agg(v.type order by v.seq desc))[1] is distinct from 'execution.' || e.status)"},
    {"its events have no gaps", R"(
        select e.execution_id || ' says last_seq ' || e.last_seq || ' and has ' || count(v.seq) || ' events up to ' || coalesce(max(v.seq), 0)
        from executions e left join events v on v.kind = 'execution' and v.stream_id = e.execution_id
        group by e.execution_id
        having count(v.seq) <> e.last_seq or coalesce(max(v.seq), 0) <> e.last_seq or coalesce(min(v.seq), 1) <> 1)"},
    {"its attempts are numbered without gaps", R"(
        select e.execution_id || ' counts ' || e.attempts || ' attempts and keeps ' || count(a.number) || ' up to ' || coalesce(max(a.number), 0)
        from executions e left join attempts a using (execution_id)
        where e.attempt_id is null
        group by e.execution_id having count(a.number) <> e.attempts or coalesce(max(a.number), 0) <> e.attempts)"},
    {"one webhook id is one attempt", R"(
        select attempt_id || ' is ' || count(*) || ' attempts' from attempts group by attempt_id having count(*) > 1)"},
    {"one attempt succeeds where the execution does", R"(
        select e.execution_id || ' is ' || e.status || ' with ' || count(a.number) || ' completed attempts'
        from executions e left join attempts a on a.execution_id = e.execution_id and a.outcome in ('completed', 'late')
        where e.status in ('completed', 'failed', 'cancelled', 'dead') and e.reason is distinct from 'partial'
          and not exists (select from executions c where c.parent_execution_id = e.execution_id)
        group by e.execution_id having count(a.number) <> (e.status = 'completed')::int)"},
    {"what has ended holds nothing", R"(
        select execution_id || ' is ' || status || ' and holds '
            || concat_ws(', ', case when ready then 'its place' end, 'due ' || due_at, 'attempt ' || attempt_id, 'node ' || attempt_node,
                         'granted to ' || granted_to, 'lease ' || lease_until, 'deadline ' || timeout_at,
                         case when open_children > 0 then open_children || ' children' end)
        from executions
        where status in ('completed', 'failed', 'cancelled', 'dead')
          and (ready or num_nonnulls(due_at, attempt_id, attempt_node, granted_to, lease_until, timeout_at) > 0 or open_children <> 0))"},
    {"no attempt is settled twice", R"(
        select execution_id || ' has ' || count(*) || ' settlements of attempt ' || split_part(usage_id, '/', 1)
        from workflow_resource_usage group by execution_id, split_part(usage_id, '/', 1), resource_type, provider having count(*) > 1)"},
    {"its cost is what its attempts cost, and what was booked", R"(
        select e.execution_id || ' costs ' || coalesce(e.cost_microusd, 0) || ', its attempts ' || coalesce(a.cost, 0) || ', booked ' || coalesce(u.cost, 0)
        from executions e
        left join (select execution_id, sum(cost_microusd) as cost from attempts group by 1) a using (execution_id)
        -- What somebody records by SQL beside it has no id.
        left join (select execution_id, sum(cost_usd * 1000000) as cost from workflow_resource_usage
                   where usage_id is not null group by 1) u using (execution_id)
        where coalesce(e.cost_microusd, 0) <> coalesce(a.cost, 0) or coalesce(e.cost_microusd, 0) <> coalesce(u.cost, 0))"},
    {"a completed execution has its result, a dead one its dead letter", R"(
        select e.execution_id || ' is ' || e.status from executions e
        where (e.status = 'completed' and not exists (select from execution_results r
                    where r.execution_id = e.execution_id and r.opening = e.opening))
           or (e.status = 'dead' and not exists (select from dead_letters d
                    where d.execution_id = e.execution_id and d.opening = e.opening)))"},
    {"no more deliveries are logged than were counted", R"(
        select a.attempt_id || ' counts ' || a.deliveries || ' deliveries and logs ' || count(d.number)
        from attempts a join deliveries d on d.execution_id = a.execution_id and d.attempt_id = a.attempt_id
        group by a.execution_id, a.number having count(d.number) > a.deliveries)"},
    {"a balance is the sum of its entries", R"(
        select b.budget_id || ' has ' || row(b.settled, b.reserved, b.suspense) || ', its entries ' || row(e.settled, e.reserved, e.suspense)
        from (select budget_id, window_start, sum(settled) as settled, sum(reserved) as reserved, sum(suspense) as suspense
              from ledger_entries group by 1, 2) e
        full join budget_balances b using (budget_id, window_start)
        where (e.settled, e.reserved, e.suspense) is distinct from (b.settled, b.reserved, b.suspense))"},
    {"what has ended holds no money", R"(
        select attempt_id || ' holds ' || sum(reserved) || ' reserved and ' || sum(suspense) || ' in suspense'
        from ledger_entries group by attempt_id, budget_id having sum(reserved) <> 0 or sum(suspense) <> 0)"},
    {"what SQL says was spent is booked", "select execution_id || ' waits to be booked' from ledger_inbox"},
    {"a due time starts one execution", R"(
        select 'what was due at ' || due_at || ' has ' || coalesce(execution_id::text, 'nothing')
        from schedule_runs r
        where outcome = 'started' and not exists (select from executions x where x.execution_id = r.execution_id)
        union all
        select execution_id || ' belongs to two due times' from schedule_runs where execution_id is not null
        group by execution_id having count(*) > 1)"},
    {"an execution belongs to one request, or to one due time", R"(
        select made.count || ' executions for ' || keys.count || ' keys'
        from (select count(*) from executions where parent_execution_id is null and batch_id is null
                and execution_id not in (select execution_id from schedule_runs where execution_id is not null)) made,
             (select count(*) from idempotency_keys where route = 'POST /v1/executions') keys
        where made.count <> keys.count)"},
};

constexpr std::size_t kMostRows = 10;

void complain(std::vector<std::string>& found, const std::string& promise, const platform::Rows& rows) {
    if (rows.empty()) return;
    found.push_back("BROKEN: " + promise + " (" + std::to_string(rows.size()) + " times)");
    for (std::size_t i = 0; i < rows.size() && i < kMostRows; ++i)
        found.push_back("    " + std::string(RowReader(rows, i).view()));
}

}

std::vector<std::string> audit(Connection& connection, const std::map<std::string, std::string>& acknowledged) {
    std::vector<std::string> found;
    connection.transact([&](Tx& tx) {
        found.clear();
        tx.run("set local statement_timeout = 0");
        for (const auto& check : kChecks) complain(found, check.promise, tx.run(check.sql));
        platform::SqlArray keys;
        platform::SqlArray ids;
        for (const auto& [key, id] : acknowledged) {
            keys.add(key);
            ids.add(id);
        }
        complain(
            found, "what was acknowledged is kept, under its key",
            tx.run("select a.key || ' was acknowledged as ' || a.id from unnest($1::text[], $2::text[]) as a(key, id) "
                   "left join executions e on e.execution_id = a.id::uuid "
                   "left join idempotency_keys k on k.key = a.key and k.answer ->> 'execution_id' = a.id "
                   "where e.execution_id is null or k.key is null",
                   Params().add(std::move(keys)).add(std::move(ids))));
    });
    return found;
}

std::vector<std::string> audit_requests(Connection& connection, const std::map<std::string, Asked>& asked) {
    struct Attempt {
        std::string execution;
        int number = 0;
        int deliveries = 0;
    };
    std::map<std::string, Attempt> attempts;
    connection.autocommit([&](Tx& tx) {
        const auto rows = tx.run("select attempt_id, execution_id, number, deliveries from attempts");
        for (std::size_t i = 0; i < rows.size(); ++i) {
            RowReader row(rows, i);
            const auto id = row.text();
            auto& attempt = attempts[id];
            attempt.execution = row.text();
            attempt.number = row.small();
            attempt.deliveries = row.small();
        }
    });
    std::vector<std::string> found;
    const auto broken = [&](const std::string& id, const std::string& how) {
        found.push_back("BROKEN: webhook id " + id + " " + how);
    };
    for (const auto& [id, seen] : asked) {
        const auto at = attempts.find(id);
        if (at == attempts.end()) {
            broken(id, "reached the receiver, and no attempt has it");
            continue;
        }
        const auto& attempt = at->second;
        if (attempt.execution != seen.execution || attempt.number != seen.attempt)
            broken(id, "is attempt " + std::to_string(attempt.number) + " of " + attempt.execution + " and came as " +
                           std::to_string(seen.attempt) + " of " + seen.execution);
        if (seen.begun > 1) broken(id, "was begun " + std::to_string(seen.begun) + " times");
        if (seen.requests > attempt.deliveries)
            broken(id, "came " + std::to_string(seen.requests) + " times with " + std::to_string(attempt.deliveries) +
                           " deliveries counted");
        if (seen.requests > 1 + seen.refused)
            broken(id, "came " + std::to_string(seen.requests) + " times and was refused " +
                           std::to_string(seen.refused) + " times");
    }
    return found;
}

std::vector<std::string> unfinished(Connection& connection, int most) {
    std::vector<std::string> found;
    connection.transact([&](Tx& tx) {
        const auto rows = tx.run(
            "select to_jsonb(e) - 'input_data' - 'progress' || jsonb_build_object("
            "    'now', clock_timestamp(),"
            "    'node_is_there', exists (select from nodes n where n.node = e.attempt_node),"
            "    'lane_gate', (select g.gate || ' ' || g.subject || ' ' || g.detail from lane_gates g"
            "        where g.organization_id = e.organization_id and g.workflow_type = e.workflow_type and g.ended_at "
            "is null),"
            "    'events', (select jsonb_agg(v.seq || ' ' || v.at || ' ' || v.type || ' ' || v.payload order by v.seq)"
            "        from events v where v.kind = 'execution' and v.stream_id = e.execution_id))"
            "from executions e where status not in ('completed', 'failed', 'cancelled', 'dead')"
            "order by created_at limit $1",
            Params().add(most));
        for (std::size_t i = 0; i < rows.size(); ++i) found.push_back(RowReader(rows, i).text());
        const auto scheduler = tx.run("select to_jsonb(s) || to_jsonb(o) from scheduler s, orchestrator_state o");
        if (!scheduler.empty()) found.push_back("scheduler: " + RowReader(scheduler, 0).text());
        const auto nodes = tx.run("select to_jsonb(n) from nodes n");
        for (std::size_t i = 0; i < nodes.size(); ++i) found.push_back("node: " + RowReader(nodes, i).text());
    });
    return found;
}

}
