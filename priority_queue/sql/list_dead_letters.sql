-- plan: for its parameters; which filters there are decides which index helps.
select d.execution_id, d.opening, d.organization_id, d.workflow_type, d.reason, d.error, d.fingerprint, d.node, d.attempts,
       d.at, d.resolution, d.resolved_at, d.resolved_by, null, null
from dead_letters d
where d.organization_id = $1
  and (d.resolved_at is not null) = $2
  and ($3::text is null or d.workflow_type = $3)
  and ($4::text is null or d.reason = $4)
  and ($5::text is null or d.fingerprint = $5)
  and ($6::timestamptz is null or d.at >= $6)
  and ($7::timestamptz is null or (d.at, d.execution_id) < ($7, $8::uuid))
order by d.at desc, d.execution_id desc limit $9
