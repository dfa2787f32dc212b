-- P2. The closed attempts are in attempts, the live one is in its execution's row.
-- plan: for its parameters
with kept as (
    select execution_id, count(*) as count, max(number) as last from attempts group by 1
), found as (
    select e.organization_id, e.workflow_type, 'execution ' || e.execution_id as subject,
           format('counts %s attempts, %s of them live, and keeps %s closed ones up to number %s',
                  e.attempts, (e.attempt_id is not null)::int, coalesce(k.count, 0), coalesce(k.last, 0)) as what
    from executions e left join kept k using (execution_id)
    where coalesce(k.count, 0) <> e.attempts - (e.attempt_id is not null)::int
       or coalesce(k.last, 0) <> e.attempts - (e.attempt_id is not null)::int
)
@fsck_findings@
