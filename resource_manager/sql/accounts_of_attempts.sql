-- result: binary
select a.budget_id, a.window_start, a.window_end, a.account_id
from ledger_accounts a
where a.account_id in (select unnest(m.accounts) from ledger_movements m where m.attempt_id = any($1::uuid[]))
