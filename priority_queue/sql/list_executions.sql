-- A page of an organization's executions, newest first.
-- plan: for its parameters; which filters there are decides which index helps.
select @execution_columns@, now()
from executions e
where e.organization_id = $1
  and ($2::text is null or e.status = any(string_to_array($2, ',')))
  and ($3::text is null or e.workflow_type = $3)
  and ($4::uuid is null or e.batch_id = $4)
  and ($5::uuid is null or e.parent_execution_id = $5)
  and ($6::timestamptz is null or e.created_at >= $6)
  and ($7::timestamptz is null or e.created_at < $7)
  and ($8::timestamptz is null or (e.created_at, e.execution_id) < ($8, $9::uuid))
order by e.created_at desc, e.execution_id desc limit $10
