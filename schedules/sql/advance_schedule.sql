update schedule_states
set moves = moves + 1, next_due_at = $2, runs = runs + $3, last_due_at = coalesce($4, last_due_at),
    last_execution_id = coalesce($5, last_execution_id)
where schedule_id = $1
