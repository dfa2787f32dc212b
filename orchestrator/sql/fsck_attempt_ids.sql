-- P2. A webhook id is one attempt: closed twice, or live again after it was closed, it would be two.
-- plan: for its parameters
with twice as (
    select attempt_id, min(execution_id::text)::uuid as execution_id, count(*) as count
    from (select attempt_id, execution_id from attempts
          union all
          select attempt_id, execution_id from executions where attempt_id is not null) a
    group by 1 having count(*) > 1
), found as (
    select e.organization_id, e.workflow_type, 'attempt ' || t.attempt_id as subject,
           format('is %s attempts, one of them of execution %s', t.count, t.execution_id) as what
    from twice t left join executions e using (execution_id)
)
@fsck_findings@
