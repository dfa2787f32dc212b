select @balance_columns@, c.account_id
from budgets b join budget_balances a using (budget_id) join ledger_accounts c using (budget_id, window_start, window_end)
where @budget_concerns@
  and @balance_counts@
