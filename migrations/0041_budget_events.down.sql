drop trigger budget_added on budgets;
drop trigger budget_moved on budgets;
drop trigger budget_deleted on budgets;
drop function budget_added, budget_moved, budget_deleted, tell_budget, budget_definition;
