insert into orchestrator_metrics (metric_type, metric_value, metadata)
select * from unnest($1::text[], $2::numeric[], $3::jsonb[])
