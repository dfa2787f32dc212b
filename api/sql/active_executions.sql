select e.execution_id, e.workflow_type, e.priority, e.scheduled_at, e.timeout_at, e.retry_count, e.status, i.context
from executions e left join execution_inputs i using (execution_id)
where e.timeout_at is not null and e.organization_id = $1 order by e.timeout_at limit 100
