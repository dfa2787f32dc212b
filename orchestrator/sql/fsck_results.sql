-- P3. What SQL completes may have no result.
-- plan: for its parameters
with found as (
    select e.organization_id, e.workflow_type, 'execution ' || e.execution_id as subject,
           case e.status when 'dead' then 'is dead and has no dead letter' else 'is completed and has no result' end as what
    from executions e
    where e.status = 'completed' and e.reason is distinct from 'sql'
          and not exists (select from execution_results r where r.execution_id = e.execution_id and r.opening = e.opening)
       or e.status = 'dead'
          and not exists (select from dead_letters d where d.execution_id = e.execution_id and d.opening = e.opening)
)
@fsck_findings@
