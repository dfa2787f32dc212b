delete from executions where execution_id = any($1::uuid[])
