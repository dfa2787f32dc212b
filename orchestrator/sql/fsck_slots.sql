-- P5, P7. An attempt holds a slot exactly while it has a deadline, and whatever has not ended has something that moves it.
-- plan: for its parameters
with rows as (
    select *, attempt_id is not null and attempt_state <> 'waiting_redelivery' as holds,
           status in ('queued', 'retrying') and due_at is null as claimable
    from executions where status not in ('completed', 'failed', 'cancelled', 'dead')
), found as (
    select organization_id, workflow_type, 'execution ' || execution_id as subject,
           case when holds and timeout_at is null then 'holds a slot without a deadline'
                when not holds and timeout_at is not null then 'has a deadline and holds no slot'
                when holds and status in ('queued', 'analyzing') then format('is %s while an attempt of it lives', status)
                when claimable then format('is %s, and no index and no gate has it: nobody will take it', status)
                else format('is %s, and nothing will ever move it', status) end as what
    from rows
    where holds <> (timeout_at is not null)
       or holds and status in ('queued', 'analyzing')
       -- A retry that SQL asks for waits for the hub's decision.
       or claimable and not ready and gate is null and not (status = 'retrying' and reason is not distinct from 'sql')
       or not claimable and due_at is null and not holds and open_children = 0
)
@fsck_findings@
