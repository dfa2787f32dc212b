-- The hour after the last one that was written down; without one, that in which something first ended. Not before $1
-- seconds ago; null: nothing has ended yet.
select date_trunc('hour', case when next is not null then greatest(next, now() - make_interval(secs => $1::double precision)) end, 'UTC')
from (select coalesce((select max(timestamp) + interval '1 hour' from orchestrator_metrics where metric_type = 'hour'),
                      (select min(completed_at) from executions where completed_at is not null)) as next) as known
