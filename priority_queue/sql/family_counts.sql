select organization_id, workflow_type, status, count(*) from executions where execution_id = any($1::uuid[])
group by 1, 2, 3 order by 1, 2, 3
