-- P5, R19. A start that is charged to a provider is an attempt that there is; a younger grant of it took a new permit.
-- plan: for its parameters
with found as (
    select p.organization_id, p.workflow_type, 'attempt ' || p.attempt_id as subject,
           format('is charged to %s by grant %s, and execution %s has no such attempt', p.provider, p.fence, p.execution_id) as what
    from provider_permits p left join executions e using (execution_id)
    where (e.attempt_id is distinct from p.attempt_id or e.fence < p.fence)
      and not exists (select from attempts a where a.execution_id = p.execution_id and a.attempt_id = p.attempt_id)
)
@fsck_findings@
