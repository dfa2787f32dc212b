select d.execution_id, d.opening, d.organization_id, d.workflow_type, d.reason, d.error, d.fingerprint, d.node, d.attempts,
       d.at, d.resolution, d.resolved_at, d.resolved_by, i.input_data, d.original_input
from dead_letters d left join execution_inputs i using (execution_id)
where d.organization_id = $1 and d.execution_id = $2
order by d.opening desc limit 1
