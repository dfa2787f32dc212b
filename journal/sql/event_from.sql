select event_id, at from events where event_id >= $1 order by event_id limit 1
