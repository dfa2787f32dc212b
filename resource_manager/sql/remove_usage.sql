delete from workflow_resource_usage where execution_id = any($1::uuid[])
