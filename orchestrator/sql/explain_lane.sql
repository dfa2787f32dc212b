-- What runs in its lane, how much of it with its key, and whether a node leads.
select count(*), count(*) filter (where e.concurrency_key = $3),
       (select s.node is not null and s.lease_until > clock_timestamp() from scheduler s)
from executions e where e.timeout_at is not null and e.organization_id = $1 and e.workflow_type = $2
