-- P4. No attempt has less than nothing in any part of a budget. That what leaves one enters another is how the ledger is made.
-- plan: for its parameters
with odd as (
    select attempt_id, budget_id, min(execution_id::text)::uuid as execution_id,
           sum(reserved) as reserved, sum(suspense) as suspense, sum(settled) as settled
    from ledger_entries group by 1, 2
    having least(sum(reserved), sum(suspense), sum(settled)) < 0
), found as (
    select e.organization_id, e.workflow_type, 'attempt ' || o.attempt_id as subject,
           format('of budget %s: reserved %s, suspense %s, settled %s USD', coalesce(b.name, o.budget_id::text),
                  round(o.reserved / 1000000, 6), round(o.suspense / 1000000, 6), round(o.settled / 1000000, 6)) as what
    from odd o left join executions e using (execution_id) left join budgets b using (budget_id)
)
@fsck_findings@
