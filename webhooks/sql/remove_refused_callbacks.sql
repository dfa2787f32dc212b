delete from refused_callbacks where execution_id = any($1::uuid[])
