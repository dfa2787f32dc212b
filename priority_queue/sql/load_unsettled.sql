-- What is under way or waits for a decision: live attempts, parents of partial results, retries asked for by SQL.
select @execution_columns@, now()
from executions e where e.timeout_at is not null
union all
select @execution_columns@, now()
from executions e where e.open_children > 0 and e.timeout_at is null
