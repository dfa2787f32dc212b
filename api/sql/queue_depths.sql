select workflow_type, count(*) filter (where ready), count(*) filter (where due_at is not null), count(*) filter (where gate is not null),
       min(ready_at) filter (where ready)
from executions
where organization_id = $1 and (ready or due_at is not null or gate is not null)
group by 1 order by 1
