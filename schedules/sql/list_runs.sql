select r.due_at, r.outcome, r.detail, r.execution_id, r.at, x.status
from schedule_runs r left join executions x using (execution_id)
where r.schedule_id = $1 and ($2::timestamptz is null or r.due_at < $2) order by r.due_at desc limit $3
