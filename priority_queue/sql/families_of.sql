-- plan: for its parameters
with recursive firsts as materialized (
    select execution_id, created_at, status, completed_at, last_seq, events_after from executions where execution_id = any($1::uuid[])
), @families_below@
