-- Balances that are not the sums of their entries, in USD; null: there is no balance. One statement sees one moment.
-- plan: for its parameters
with sums as (
    select budget_id, window_start, window_end, sum(settled) as settled, sum(reserved) as reserved, sum(suspense) as suspense
    from ledger_entries group by 1, 2, 3
), pairs as (
    select budget_id, window_start, window_end,
           coalesce(s.settled, 0) as settled, coalesce(s.reserved, 0) as reserved, coalesce(s.suspense, 0) as suspense,
           a.settled as a_settled, a.reserved as a_reserved, a.suspense as a_suspense
    from sums s full join budget_balances a using (budget_id, window_start, window_end)
)
select p.budget_id, p.window_start, p.window_end,
       round(p.settled / 1000000, 6)::text, round(p.reserved / 1000000, 6)::text, round(p.suspense / 1000000, 6)::text,
       round(a_settled / 1000000, 6)::text, round(a_reserved / 1000000, 6)::text, round(a_suspense / 1000000, 6)::text,
       b.budget_id is not null and least(p.settled, p.reserved, p.suspense) >= 0,
       b.name, b.scope_organization, b.scope_workflow_type
from pairs p left join budgets b using (budget_id)
where (p.settled, p.reserved, p.suspense) is distinct from (a_settled, a_reserved, a_suspense)
order by 1, 2, 3
