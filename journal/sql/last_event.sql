-- Also one that has gone after its time: what comes next has a higher number, whatever is left.
select greatest((select event_id from events where event_id <= $1 order by event_id desc limit 1),
                (select events_until from retention where events_until <= $1))
