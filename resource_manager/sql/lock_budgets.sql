select from budgets where budget_id = any($1::uuid[]) order by budget_id for no key update
