select organization_id, workflow_type, priority, count(*) from executions where ready group by 1, 2, 3
