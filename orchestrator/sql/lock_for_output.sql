-- Who says something while it runs waits for nobody: a row that somebody else holds is asked for again.
select e.organization_id, e.attempt_id is not distinct from $2::uuid, e.attempts, e.last_seq, e.events_after,
       (select count(*) from events where stream_id = e.execution_id and event_id > e.events_after
        and type in ('execution.output', 'execution.log'))
from executions e where e.execution_id = $1 for update of e nowait
