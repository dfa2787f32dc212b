-- result: binary
select @budget_columns@
from budgets b where b.retired_at is null order by b.budget_id
