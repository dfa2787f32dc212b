delete from deliveries where execution_id = any($1::uuid[])
