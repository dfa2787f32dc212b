-- result: binary
-- What may still count at $5.
select @balance_columns@, c.account_id
from budgets b join budget_balances a using (budget_id) join ledger_accounts c using (budget_id, window_start, window_end)
cross join (select $5::timestamptz as at) as moment
where @budget_concerns@
  and @balance_counts@
