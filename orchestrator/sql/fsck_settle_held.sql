-- Reports each closed attempt that still holds money, as the functions of SQL do: the scheduler takes what is held for what
-- it cost, as it may have run (R18). An attempt with several budgets is one line.
-- plan: for its parameters
with @fsck_held@, lines as (
    insert into ledger_inbox (execution_id, attempt_id, settle, pinned_at)
    select execution_id, attempt_id, true, now() from held
    group by 1, 2 having bool_and(repairable) order by 1, 2
    returning attempt_id
)
select attempt_id, pg_notify('orchestration_event', 'execution') from lines
