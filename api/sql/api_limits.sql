-- 003's api_limits: of each provider what its narrowest limit on requests leaves, when more fits where nothing is left, and
-- what the organization's executions say they have spent there since midnight UTC.
select p.name, l.remaining, l.reset_at,
       (select coalesce(sum(u.cost_usd), 0) from workflow_resource_usage u join executions e using (execution_id)
        where u.provider = p.name and u.timestamp >= date_trunc('day', now() at time zone 'UTC') at time zone 'UTC'
          and e.organization_id = $1)::numeric(38, 6)
from providers p
cross join lateral (
    select min(greatest(a.limit_value - a.current_usage, 0)) as remaining, max(a.reset_time) as reset_at
    from jsonb_array_elements(p.limits) j
    join provider_availability() a on a.resource_type = format('provider:%s:%s', p.name, j ->> 'name')
    where j ->> 'of' = 'requests') l
order by p.name
