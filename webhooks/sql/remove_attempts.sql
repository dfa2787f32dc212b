delete from attempts where execution_id = any($1::uuid[])
