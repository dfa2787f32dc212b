-- plan: for its parameters
-- What was reported of providers in [$1, $2). $3: of one organization; null: of all.
select e.organization_id, e.workflow_type, coalesce(u.provider, ''), count(*), least(coalesce(ceil(sum(u.cost_usd) * 1000000), 0), 9223372036854775807)::bigint
from workflow_resource_usage u join executions e using (execution_id)
where u.timestamp >= $1 and u.timestamp < $2 and ($3::text is null or e.organization_id = $3)
  and (u.provider is not null or u.cost_usd is not null)
group by 1, 2, 3
