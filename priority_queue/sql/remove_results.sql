delete from execution_results where execution_id = any($1::uuid[])
