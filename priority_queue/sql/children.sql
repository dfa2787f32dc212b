-- The children of partial results of the current opening and what they brought, for the merge (protocol R12). What an
-- earlier opening left behind, or SQL hung below it, is not part of its result.
select e.parent_execution_id, e.execution_id, e.status, e.retry_count, r.result_data, r.items, r.error_data, e.cost_microusd, e.reason
from executions e
join executions p on p.execution_id = e.parent_execution_id
join attempts a on a.execution_id = e.parent_execution_id and a.attempt_id = e.parent_attempt_id and a.opening = p.opening
left join execution_results r on r.execution_id = e.execution_id and r.opening = e.opening
where e.parent_execution_id = any($1::uuid[])
order by e.parent_execution_id, e.created_at, e.execution_id
