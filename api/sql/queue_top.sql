-- The next executions of an organization in the hub's order, over all its lanes.
-- plan: for its parameters; which filters there are decides which index helps.
select h.execution_id, t.name, h.priority, h.created_at, h.ready_at, h.score, h.starving, lane_gate($1, t.name), now()
from workflow_types t cross join lateral ready_executions($1, t.name, $2, now()) h
where t.organization_id = $1 and ($3::text is null or t.name = $3)
order by h.starving desc, case when h.starving then h.ready_at end, case when not h.starving then h.score end desc,
         h.created_at, h.execution_id
limit $2
