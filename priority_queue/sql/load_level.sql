-- One priority level from a place on: start-up, and keeping the window of a deep queue filled.
select execution_id, created_at, coalesce(ready_at, created_at), concurrency_key, last_seq, size_class, batch_id,
       need_amounts, limit_keys
from executions
where ready and organization_id = $1 and workflow_type = $2 and priority = $3
  and (created_at, execution_id) > ($4, $5)
order by created_at, execution_id limit $6
