select seq, type, at, payload from events where stream_id = $1 and seq > $2 order by seq limit $3
