-- Lines of the hours before $1 that are of its hour of the day, at most $2 seconds before it.
select metric_type, coalesce(metadata ->> 'organization_id', ''), coalesce(metadata ->> 'workflow_type', ''), timestamp,
       metric_value::double precision
from orchestrator_metrics
where metric_type = any('{hour,hour_executions,hour_failed_percent,hour_cost_usd,hour_duration_seconds}'::text[])
  and timestamp < $1 and timestamp >= $1 - make_interval(secs => $2::double precision)
  and extract(hour from timestamp at time zone 'UTC') = extract(hour from $1::timestamptz at time zone 'UTC')
order by timestamp
