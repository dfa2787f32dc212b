select workflow_type, count(*) from executions where timeout_at is not null and organization_id = $1 group by 1 order by 1
