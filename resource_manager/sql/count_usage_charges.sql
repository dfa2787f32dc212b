-- Only the leading node counts. What SQL has recorded of an attempt is held against its grant in the order in which it is
-- counted.
with uncounted as materialized (
    select * from usage_charges where over_calls is null order by charge_id limit $1
), counted as (
    select u.charge_id,
           greatest(0, b.calls + u.calls_until - g.calls) - greatest(0, b.calls + u.calls_until - u.calls - g.calls) as calls,
           greatest(0, b.tokens + u.tokens_until - g.tokens) - greatest(0, b.tokens + u.tokens_until - u.tokens - g.tokens) as tokens,
           greatest(0, b.cost + u.cost_until - g.cost) - greatest(0, b.cost + u.cost_until - u.cost_microusd - g.cost) as cost
    from (select *, sum(calls) over w as calls_until, sum(tokens) over w as tokens_until, sum(cost_microusd) over w as cost_until
          from uncounted where not beyond
          window w as (partition by attempt_id, provider order by charge_id)) u
    cross join lateral (select coalesce(sum(c.calls), 0) as calls, coalesce(sum(c.tokens), 0) as tokens,
                               coalesce(sum(c.cost_microusd), 0) as cost
                        from usage_charges c where c.attempt_id = u.attempt_id and c.provider = u.provider and not c.beyond
                                                   and c.over_calls is not null) b
    cross join lateral (select coalesce(max(p.calls), 0) as calls, coalesce(max(p.tokens), 0) as tokens,
                               coalesce(max(p.cost_microusd), 0) as cost
                        from (select * from provider_permits p where p.attempt_id = u.attempt_id and p.provider = u.provider
                              order by p.fence desc limit 1) p) g
    union all
    select charge_id, calls, tokens, cost_microusd from uncounted where beyond
)
update usage_charges c set over_calls = o.calls, over_tokens = o.tokens, over_cost_microusd = o.cost
from counted o where o.charge_id = c.charge_id
returning c.organization_id, c.workflow_type, c.provider, c.over_calls, c.over_tokens, 0::bigint, c.over_cost_microusd, c.at, c.limit_keys
