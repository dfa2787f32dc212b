-- P4, R6. Money is held for attempts that are under way.
-- plan: for its parameters
with @fsck_held@, found as (
    select h.organization_id, h.workflow_type, 'attempt ' || h.attempt_id as subject,
           format('%s, and budget %s holds %s USD reserved and %s in suspense for it',
                  case when h.waits then 'waits to be sent again' else 'is closed' end,
                  coalesce(b.name, h.budget_id::text), round(h.reserved / 1000000, 6), round(h.suspense / 1000000, 6)) as what,
           h.repairable
    from held h left join budgets b using (budget_id)
)
@fsck_findings@
