-- What a node is said to be sending.
select @execution_columns@, now()
from executions e where e.timeout_at is not null and e.attempt_node = $1 and e.attempt_state = 'sending'
