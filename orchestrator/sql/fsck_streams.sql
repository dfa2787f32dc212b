-- P8. The same for the streams of lanes, budgets, providers and nodes, as long as the row is there that counts them.
-- plan: for its parameters
with counted as (
    select organization_id, name as workflow_type, 'lane ' || name as subject, lane_id as stream_id, last_seq from workflow_types
    union all
    select null, null, 'budget ' || name, budget_id, last_seq from budgets
    union all
    select null, null, 'provider ' || provider, stream_id, last_seq from provider_weather
    union all
    select null, null, 'node ' || name || ' ' || node, node, last_seq from nodes
), streams as (
    select stream_id, count(*) as count, min(seq) as first, max(seq) as last from events where kind <> 'execution' group by 1
), found as (
    select c.organization_id, c.workflow_type, c.subject,
           format('is at event %s and has %s, from %s to %s', c.last_seq, coalesce(s.count, 0), coalesce(s.first, 0),
                  coalesce(s.last, 0)) as what
    from counted c left join streams s using (stream_id)
    where (c.last_seq, c.last_seq, least(c.last_seq, 1))
          is distinct from (coalesce(s.count, 0)::int, coalesce(s.last, 0), coalesce(s.first, 0))
)
@fsck_findings@
