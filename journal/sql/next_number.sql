-- plan: for its parameters
select min(event_id) from events where event_id > $1 and event_id <= $2
