-- Of all organizations, as the scheduler counts it: what holds a slot, by what its type says now.
select coalesce(sum(t.memory_mb), 0)::bigint
from executions e join workflow_types t on t.organization_id = e.organization_id and t.name = e.workflow_type
where e.timeout_at is not null
