insert into workflow_resource_usage (execution_id, resource_type, provider, usage_amount, cost_usd, usage_id)
select t.execution_id, t.resource_type, t.provider, t.amount, t.cost_microusd::numeric / 1000000, t.usage_id
from unnest($1::uuid[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::text[])
    as t(execution_id, resource_type, provider, amount, cost_microusd, usage_id)
on conflict (execution_id, usage_id) do nothing
