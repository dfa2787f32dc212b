with gone as (
    update budgets set retired_at = now(), version = version + 1, updated_at = now(), updated_by = $2, reason = $3
    where budget_id = $1 and retired_at is null
    returning budget_id, version
)
insert into budget_versions (budget_id, version, by, reason) select budget_id, version, $2, $3 from gone
