-- P4. What a row says is held for its live attempt is in the ledger.
-- plan: for its parameters
with found as (
    select e.organization_id, e.workflow_type, 'attempt ' || e.attempt_id as subject,
           format('is %s with %s USD reserved for it, and the ledger has no reservation of its latest grant',
                  e.attempt_state, round(e.attempt_reserved_microusd / 1000000.0, 6)) as what
    from executions e
    where e.attempt_id is not null and e.attempt_state <> 'waiting_redelivery' and e.attempt_reserved_microusd is not null
      and not exists (select from ledger_entries l where l.attempt_id = e.attempt_id and l.movement = 'reserve')
)
@fsck_findings@
