select min(due_at) from executions where due_at is not null and execution_id <> all($1::uuid[])
