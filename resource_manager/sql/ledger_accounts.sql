-- result: binary
-- And whether there is a balance yet.
select a.budget_id, a.window_start, a.window_end, a.account_id, b.budget_id is not null
from ledger_accounts a left join budget_balances b using (budget_id, window_start, window_end)
where a.account_id = any($1::bigint[])
