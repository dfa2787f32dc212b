-- Balances that are not the sums of their entries; null: there is no balance.
with sums as (
    select budget_id, window_start, window_end, sum(settled) as settled, sum(reserved) as reserved, sum(suspense) as suspense
    from ledger_entries group by 1, 2, 3
)
select budget_id, window_start, window_end,
       coalesce(s.settled, 0)::text, coalesce(s.reserved, 0)::text, coalesce(s.suspense, 0)::text,
       a.settled::text, a.reserved::text, a.suspense::text
from sums s full join budget_balances a using (budget_id, window_start, window_end)
where (coalesce(s.settled, 0), coalesce(s.reserved, 0), coalesce(s.suspense, 0)) is distinct from (a.settled, a.reserved, a.suspense)
order by 1, 2, 3
