-- Their executions are locked, so that nobody else books for the same attempts; what somebody holds waits for the next time.
with lines as materialized (
    select * from ledger_inbox order by entry_id limit $1
), locked as materialized (
    select e.execution_id, e.organization_id, e.workflow_type, e.batch_id
    from executions e where e.execution_id in (select execution_id from lines)
    order by e.execution_id for update skip locked
)
select l.entry_id, l.execution_id, l.attempt_id, l.provider, l.cost_microusd, l.pinned_at,
       e.organization_id, e.workflow_type, e.batch_id
from lines l join locked e using (execution_id)
order by l.entry_id
