-- P4. One statement sees one moment: what differs, differs in the tables.
with sums as (
    select budget_id, window_start, window_end, sum(settled) as settled, sum(reserved) as reserved, sum(suspense) as suspense
    from ledger_entries group by 1, 2, 3
)
select coalesce(sum(abs(coalesce(s.settled, 0) - coalesce(a.settled, 0)) + abs(coalesce(s.reserved, 0) - coalesce(a.reserved, 0))
                    + abs(coalesce(s.suspense, 0) - coalesce(a.suspense, 0))), 0)::bigint
from sums s full join budget_balances a using (budget_id, window_start, window_end)
