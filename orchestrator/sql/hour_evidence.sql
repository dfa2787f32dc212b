-- plan: for its parameters
-- What of some lanes ($1, $2) ended in [$4, $5): of each, by its place, what speaks loudest for its series ($3).
select asked.place, found.execution_id
from unnest($1::text[], $2::text[], $3::text[]) with ordinality as asked (organization_id, workflow_type, series, place)
cross join lateral (
    select execution_id, row_number() over (
               order by case asked.series when 'cost_usd' then cost_microusd when 'duration_seconds' then duration_ms end desc nulls last,
                        completed_at desc) as rank
    from executions e
    where completed_at >= $4 and completed_at < $5 and e.organization_id = asked.organization_id
      and e.workflow_type = asked.workflow_type and (asked.series <> 'failed_percent' or status in ('failed', 'dead'))
    order by rank limit 20
) as found
order by asked.place, found.rank
