-- What may still count at $1.
select @balance_columns@
from budgets b join budget_balances a using (budget_id)
where b.retired_at is null and @balance_counts@
