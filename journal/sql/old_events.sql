-- plan: for its parameters
-- Number, whether it is old, whether it may go: executions go with all that is theirs.
select event_id, at < now() - make_interval(secs => $3), kind <> 'execution'
from events where event_id > $1 and event_id <= $4 order by event_id limit $2
