-- Of what has waited since before then the one of each type that has waited longest, one of those that a gate of their own
-- stops, and what should have become due. $1: of one organization; null: of all. $2 seconds.
with since as (select clock_timestamp() - make_interval(secs => $2) as at)
select w.execution_id, w.at
from (select t.organization_id, t.name from workflow_types t where $1::text is null or t.organization_id = $1) l
cross join since
cross join lateral (
    (select e.execution_id, e.ready_at as at from executions e
     where e.organization_id = l.organization_id and e.workflow_type = l.name and e.ready and e.ready_at < since.at
     order by e.ready_at, e.execution_id limit 1)
    union all
    -- One of a few: whether it is the one that has waited longest nobody needs to know.
    (select g.execution_id, g.gate_since
     from (select e.execution_id, e.gate_since from executions e
           where e.organization_id = l.organization_id and e.workflow_type = l.name and e.gate is not null limit 100) g
     where g.gate_since < since.at order by g.gate_since limit 1)) w
union all
(select e.execution_id, e.due_at from executions e cross join since
 where e.due_at < since.at and ($1::text is null or e.organization_id = $1) order by e.due_at limit 10)
order by 2, 1 limit $3
