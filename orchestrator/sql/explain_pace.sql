-- How its lane did lately, by a sample that is bounded: of the newest of the organization, and of those that were enqueued
-- just before what goes next in the lane ($4).
select count(*), min(s.started_at), max(s.started_at),
       percentile_disc(0.9) within group (order by s.duration_ms)
from (
    (select execution_id, workflow_type, started_at, duration_ms from executions
     where organization_id = $1 and created_at <= $3 order by created_at desc, execution_id desc limit 1000)
    union
    (select execution_id, workflow_type, started_at, duration_ms from executions
     where organization_id = $1 and created_at <= $4 order by created_at desc, execution_id desc limit 1000)) s
where s.workflow_type = $2 and s.started_at > $3::timestamptz - interval '15 minutes'
