-- What attempts say of providers, all until now: what is more than their latest grant took and than was charged before.
-- Their executions are locked, so that nobody charges the same meanwhile.
insert into usage_charges (execution_id, attempt_id, provider, organization_id, workflow_type, limit_keys, beyond, calls, tokens,
                           cost_microusd)
select u.execution_id, u.attempt_id, u.provider, u.organization_id, u.workflow_type, u.limit_keys, true, o.calls, o.tokens, o.cost_microusd
from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::bigint[])
     as u(execution_id, attempt_id, provider, organization_id, workflow_type, limit_keys, calls, tokens, cost_microusd)
join providers p on p.name = u.provider
left join lateral (select g.calls, g.tokens, g.cost_microusd from provider_permits g
                   where g.attempt_id = u.attempt_id and g.provider = u.provider order by g.fence desc limit 1) granted on true
cross join lateral (select coalesce(sum(c.calls), 0)::bigint as calls, coalesce(sum(c.tokens), 0)::bigint as tokens,
                           coalesce(sum(c.cost_microusd), 0)::bigint as cost_microusd
                    from usage_charges c where c.attempt_id = u.attempt_id and c.provider = u.provider and c.beyond) before
cross join lateral (select greatest(0, u.calls - coalesce(granted.calls, 0) - before.calls) as calls,
                           greatest(0, u.tokens - coalesce(granted.tokens, 0) - before.tokens) as tokens,
                           greatest(0, u.cost_microusd - coalesce(granted.cost_microusd, 0) - before.cost_microusd) as cost_microusd) o
where o.calls + o.tokens + o.cost_microusd > 0
