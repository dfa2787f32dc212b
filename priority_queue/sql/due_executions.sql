select execution_id from executions where due_at <= $1 order by due_at limit $2
