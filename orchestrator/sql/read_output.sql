select seq, at, payload from events
where stream_id = $1 and type in ('execution.output', 'execution.log') and type = $2 and seq > $3 order by seq limit $4
