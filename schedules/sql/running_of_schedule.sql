-- Of those that were started lately: a backfill's are due long before.
select x.execution_id
from (select execution_id from schedule_runs where schedule_id = $1 and outcome = 'started' order by at desc limit 1000) r
join executions x using (execution_id) where x.status not in ('completed', 'failed', 'cancelled', 'dead')
