-- What was written down of $1 and of the hours before it that are of its hour of the day, at most $2 seconds before it. $3: the
-- kinds of lines.
select metric_type, coalesce(metadata ->> 'organization_id', ''), coalesce(metadata ->> 'workflow_type', ''), timestamp,
       metric_value::double precision
from orchestrator_metrics
where metric_type = any($3::text[]) and timestamp <= $1 and timestamp >= $1 - make_interval(secs => $2::double precision)
  and extract(hour from timestamp at time zone 'UTC') = extract(hour from $1::timestamptz at time zone 'UTC')
order by timestamp
