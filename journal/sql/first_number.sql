select event_id from events order by event_id limit 1
