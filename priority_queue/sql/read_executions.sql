-- result: binary
select @execution_columns@, now()
from executions e where e.execution_id = any($1::uuid[])
