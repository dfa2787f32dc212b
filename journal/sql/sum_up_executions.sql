insert into execution_days as d (organization_id, workflow_type, day, status, executions, attempts, retries, items,
                                 cost_microusd, duration_ms, longest_ms, wait_ms)
select organization_id, workflow_type, (completed_at at time zone 'UTC')::date, status, count(*), sum(attempts),
       sum(retry_count), sum(coalesce(items_processed, 0)), sum(coalesce(cost_microusd, 0)), sum(coalesce(duration_ms, 0)),
       max(coalesce(duration_ms, 0)),
       sum(coalesce(greatest(extract(epoch from started_at - greatest(scheduled_at, created_at)) * 1000, 0), 0))
from executions where execution_id = any($1::uuid[]) group by 1, 2, 3, 4 order by 1, 2, 3, 4
on conflict (organization_id, workflow_type, day, status) do update
    set executions = d.executions + excluded.executions, attempts = d.attempts + excluded.attempts,
        retries = d.retries + excluded.retries, items = d.items + excluded.items,
        cost_microusd = d.cost_microusd + excluded.cost_microusd, duration_ms = d.duration_ms + excluded.duration_ms,
        longest_ms = greatest(d.longest_ms, excluded.longest_ms), wait_ms = d.wait_ms + excluded.wait_ms
