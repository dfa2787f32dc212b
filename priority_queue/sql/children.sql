-- The children of partial results and what they brought, for the merge (protocol R12).
select e.parent_execution_id, e.execution_id, e.status, e.retry_count, r.result_data, r.items, r.error_data, e.cost_microusd, e.reason
from executions e left join execution_results r on r.execution_id = e.execution_id and r.opening = e.opening
where e.parent_execution_id = any($1::uuid[])
order by e.parent_execution_id, e.created_at, e.execution_id
