select budget_id from budgets order by budget_id for no key update
