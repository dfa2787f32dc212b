-- result: binary
-- What the scheduler has picked, with the payloads to be sent. A row that somebody else holds right now is left out
-- instead of waited for: it comes back next turn, if it is still there.
with picked as materialized (
    select @execution_columns@
    from executions e where e.execution_id = any($1::uuid[])
    for update skip locked)
select picked.*, i.input_data, i.context, now(), i.trace_context
from picked left join execution_inputs i using (execution_id)
