-- Of executions whose last event has a number up to $2.
with gone as (
    delete from events
    where stream_id = any($1::uuid[]) and event_id <= $2
      and event_id > coalesce((select min(events_after) from executions where execution_id = any($1::uuid[])), 0)
    returning event_id
), noted as (
    update retention set events_until = greatest(events_until, coalesce((select max(event_id) from gone), 0)),
                         executions = executions + cardinality($1::uuid[]), events = events + (select count(*) from gone)
)
select count(*) from gone
