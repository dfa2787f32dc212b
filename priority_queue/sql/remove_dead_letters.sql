delete from dead_letters where execution_id = any($1::uuid[])
