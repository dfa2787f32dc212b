-- Of an execution.
select seq, type, at, payload from events
where stream_id = $1 and seq > $2 and event_id > coalesce((select events_after from executions where execution_id = $1), 0)
order by seq limit $3
