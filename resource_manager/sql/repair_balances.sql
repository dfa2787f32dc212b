-- What cannot be right is left for somebody to look at: check_ledger names it.
-- plan: for its parameters
with sums as (
    select budget_id, window_start, window_end, sum(settled) as settled, sum(reserved) as reserved, sum(suspense) as suspense
    from ledger_entries group by 1, 2, 3
), truth as (
    select budget_id, window_start, window_end, coalesce(s.settled, 0) as settled, coalesce(s.reserved, 0) as reserved,
           coalesce(s.suspense, 0) as suspense
    from sums s full join budget_balances a using (budget_id, window_start, window_end)
)
insert into budget_balances as a (budget_id, window_start, window_end, settled, reserved, suspense)
select * from truth
where least(settled, reserved, suspense) >= 0 and budget_id in (select budget_id from budgets)
order by 1, 2, 3
on conflict (budget_id, window_start, window_end) do update
set settled = excluded.settled, reserved = excluded.reserved, suspense = excluded.suspense, updated_at = now()
where (a.settled, a.reserved, a.suspense) is distinct from (excluded.settled, excluded.reserved, excluded.suspense)
