-- plan: for its parameters
-- The next executions that came from no other, each with all that came from it.
with recursive firsts as materialized (
    select execution_id, created_at, status, completed_at, last_seq, events_after from executions
    where organization_id = $1 and (created_at, execution_id) > ($2, $3) and created_at < $4
      and parent_execution_id is null
    order by created_at, execution_id limit $5
), @families_below@
