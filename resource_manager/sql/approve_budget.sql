update budgets set approved_until = $2, approved_by = $3 where budget_id = $1 and retired_at is null
