select @balance_columns@
from budgets b join budget_balances a using (budget_id)
where @budget_concerns@
  and @balance_counts@
