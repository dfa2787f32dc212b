delete from execution_inputs where execution_id = any($1::uuid[])
