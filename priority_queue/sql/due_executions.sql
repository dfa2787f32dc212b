select execution_id from executions where due_at <= $1 and execution_id <> all($3::uuid[]) order by due_at limit $2
