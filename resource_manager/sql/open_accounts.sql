-- Their budgets are locked: nobody else opens one of these meanwhile.
with wanted as (
    select * from unnest($1::uuid[], $2::timestamptz[], $3::timestamptz[]) as w(budget_id, window_start, window_end)
), balances as (
    insert into budget_balances (budget_id, window_start, window_end) select * from wanted order by 1, 2, 3
    on conflict do nothing
), opened as (
    insert into ledger_accounts (budget_id, window_start, window_end) select * from wanted order by 1, 2, 3
    on conflict do nothing
    returning budget_id, window_start, window_end, account_id
)
select * from opened
union all
select a.budget_id, a.window_start, a.window_end, a.account_id
from wanted join ledger_accounts a using (budget_id, window_start, window_end)
