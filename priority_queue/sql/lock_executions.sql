-- The rows a change is about, locked in id order: two batches that share rows wait for each other instead of dying in
-- each other's arms (protocol R8).
select @execution_columns@, now()
from executions e where e.execution_id = any($1::uuid[])
order by e.execution_id for update
