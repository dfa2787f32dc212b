-- result: binary
-- What may still count at $1.
select @balance_columns@
from budgets b join budget_balances a using (budget_id) cross join (select $1::timestamptz as at) as moment
where b.retired_at is null and @balance_counts@
