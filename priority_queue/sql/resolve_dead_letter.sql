update dead_letters d set resolution = $3, resolved_at = now(), resolved_by = $4,
    original_input = case when $5 then (select input_data from execution_inputs i where i.execution_id = $1) end
where d.execution_id = $1 and d.opening = $2 and d.resolved_at is null
