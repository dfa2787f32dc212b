select event_id from events where event_id <= $1 order by event_id desc limit 1
