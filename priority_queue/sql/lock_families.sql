-- plan: for its parameters
-- Whoever wants to add a child waits for its parent's row.
with recursive families as (
    select execution_id from executions where execution_id = any($1::uuid[])
    union
    select x.execution_id from families f join executions x on x.parent_execution_id = f.execution_id
)
select from executions where execution_id in (select execution_id from families) order by execution_id for update
