-- The newest of an execution's events, without those that change nothing about where it stands.
select seq, type, at, payload from events
where stream_id = $1 and event_id > coalesce((select events_after from executions where execution_id = $1), 0)
  and type not in ('execution.output', 'execution.refused', 'execution.starving')
order by seq desc limit $2
