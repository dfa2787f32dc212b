-- result: binary
-- The rows a change is about. One that somebody else holds right now, a session at a prompt as well, is left out
-- instead of waited for: whoever asked asks again, and nobody else's change waits with it.
select @execution_columns@, now()
from executions e where e.execution_id = any($1::uuid[])
for update skip locked
