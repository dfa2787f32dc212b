insert into orchestrator_metrics (metric_type, metric_value, metadata, timestamp)
select type, value, about, coalesce(at, now())
from unnest($1::text[], $2::numeric[], $3::jsonb[], $4::timestamptz[]) as line (type, value, about, at)
