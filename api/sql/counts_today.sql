select count(*) filter (where status = 'completed'), count(*) filter (where status = 'failed'), count(*) filter (where status = 'dead'),
       count(*) filter (where status = 'cancelled'), count(*),
       coalesce(sum(cost_microusd), 0)::bigint
from executions
where organization_id = $1 and created_at >= date_trunc('day', now())
