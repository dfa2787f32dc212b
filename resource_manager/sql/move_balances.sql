update budget_balances b
set reserved = b.reserved + m.reserved, suspense = b.suspense + m.suspense, settled = b.settled + m.settled, updated_at = now()
from unnest($1::bigint[], $2::numeric[], $3::numeric[], $4::numeric[]) as m(account_id, reserved, suspense, settled)
join ledger_accounts a using (account_id)
where (b.budget_id, b.window_start, b.window_end) = (a.budget_id, a.window_start, a.window_end)
