select seq, at, payload from events
where stream_id = $1 and event_id > coalesce((select events_after from executions where execution_id = $1), 0)
  and type in ('execution.output', 'execution.log') and type = $2 and seq > $3 order by seq limit $4
