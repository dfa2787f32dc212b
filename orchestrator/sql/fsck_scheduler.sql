-- R1. Leadership is one row, for a lease at a time; the tables beside it that have one row have it.
-- plan: for its parameters
with found as (
    select null as organization_id, null as workflow_type, 'scheduler' as subject,
           format('node %s leads until %s, which is longer than any lease', s.node, s.lease_until) as what
    from scheduler s where s.lease_until > now() + interval '1 hour'
    union all
    select null, null, t.name, format('has %s rows instead of one', t.count)
    from (select 'scheduler' as name, count(*) from scheduler
          union all select 'orchestrator_state', count(*) from orchestrator_state
          union all select 'catalogue_version', count(*) from catalogue_version) t
    where t.count <> 1
)
@fsck_findings@
