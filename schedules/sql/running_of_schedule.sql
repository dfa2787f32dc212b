select x.execution_id
from (select execution_id from schedule_runs where schedule_id = $1 and outcome = 'started' order by due_at desc limit 1000) r
join executions x using (execution_id) where x.status not in ('completed', 'failed', 'cancelled', 'dead')
