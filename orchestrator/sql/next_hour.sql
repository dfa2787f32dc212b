-- The hour after the last one that was written down; without one, that in which something first ended. Not before $1
-- seconds ago.
select date_trunc('hour', greatest(
           coalesce((select max(timestamp) + interval '1 hour' from orchestrator_metrics where metric_type = 'hour'),
                    (select min(completed_at) from executions where completed_at is not null)),
           now() - make_interval(secs => $1::double precision)), 'UTC')
