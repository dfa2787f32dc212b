with locked as materialized (
    select budget_id from budgets where budget_id = any($1::uuid[]) order by budget_id for no key update
)
update budgets b set steps_on = s.steps_on, steps_window_start = s.window_start, steps_window_end = s.window_end
from locked l join unnest($1::uuid[], $2::integer[], $3::timestamptz[], $4::timestamptz[])
    as s(budget_id, steps_on, window_start, window_end) using (budget_id)
where b.budget_id = l.budget_id
