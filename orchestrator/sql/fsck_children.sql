-- R12. A parent waits for children that have not ended. The last of them settles it within the same transaction, or, where
-- somebody holds the parent, soon after.
-- plan: for its parameters
with found as (
    select e.organization_id, e.workflow_type, 'execution ' || e.execution_id as subject,
           format('waits for %s children, and all of them ended more than five minutes ago', e.open_children) as what
    from executions e
    where e.open_children > 0 and e.status not in ('completed', 'failed', 'cancelled', 'dead')
      and not exists (select from executions c where c.parent_execution_id = e.execution_id
                      and (c.completed_at is null or c.completed_at > now() - interval '5 minutes'))
      and exists (select from scheduler s join nodes n using (node)
                  where s.lease_until > now() and n.started_at < now() - interval '5 minutes')
)
@fsck_findings@
