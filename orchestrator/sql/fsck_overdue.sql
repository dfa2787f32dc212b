-- P7, R21. Times that passed long ago while somebody led: a row that cannot be written, or that somebody holds.
-- plan: for its parameters
with late as (
    select organization_id, workflow_type, 'execution ' || execution_id as subject, 'its deadline' as what, timeout_at as at
    from executions where timeout_at is not null
    union all
    select organization_id, workflow_type, 'execution ' || execution_id, 'the time at which it goes on', due_at
    from executions where due_at is not null
    union all
    select e.organization_id, e.workflow_type, 'execution ' || execution_id,
           format('what SQL says it has spent (ledger_inbox %s) is not booked, its time', i.entry_id), i.at
    from ledger_inbox i left join executions e using (execution_id)
), found as (
    select organization_id, workflow_type, subject,
           format('%s passed %s minutes ago', what, round(extract(epoch from now() - at) / 60)) as what
    from late
    where at < now() - interval '10 minutes'
      and exists (select from scheduler s join nodes n using (node)
                  where s.lease_until > now() and n.started_at < now() - interval '10 minutes')
)
@fsck_findings@
