-- The last of a lane by score, of equals the youngest: what is shed first. The lowest of each level are its youngest, so
-- this reads that many of each level, however many wait; those behind a gate of their own are few or all read.
with recursive level as (
    (select priority from executions where ready and organization_id = $1 and workflow_type = $2 order by priority limit 1)
    union all
    select n.priority from level cross join lateral (
        select priority from executions
        where ready and organization_id = $1 and workflow_type = $2 and priority > level.priority
        order by priority limit 1) n)
select execution_id, execution_score(priority, created_at, $3), created_at
from (
    select e.execution_id, e.priority, e.created_at
    from level cross join lateral (
        select execution_id, priority, created_at from executions
        where ready and organization_id = $1 and workflow_type = $2 and priority = level.priority
        order by created_at desc, execution_id desc limit $4) e
    union all
    select execution_id, priority, created_at from executions
    where gate is not null and not ready and organization_id = $1 and workflow_type = $2
      and status in ('queued', 'retrying') and due_at is null) waiting
order by 2, created_at desc, execution_id desc limit $4
