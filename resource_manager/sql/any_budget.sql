select exists (select from budgets where retired_at is null)
