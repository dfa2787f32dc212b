-- P2. A request is counted before it leaves.
-- plan: for its parameters
with logged as (
    select execution_id, attempt_id, count(*) as count from deliveries group by 1, 2
), found as (
    select e.organization_id, e.workflow_type, 'attempt ' || a.attempt_id as subject,
           format('counts %s deliveries and logs %s', a.deliveries, l.count) as what
    from logged l join attempts a using (execution_id, attempt_id) join executions e using (execution_id)
    where l.count > a.deliveries
)
@fsck_findings@
