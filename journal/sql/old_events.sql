-- plan: for its parameters
-- Number, whether it is old, whether it may go.
select e.event_id, e.at < now() - make_interval(secs => $3),
       e.kind <> 'execution' and (exists (select from events l where l.stream_id = e.stream_id and l.seq > e.seq)
                                  or e.kind = 'timer' and not exists (select from timers t where t.timer_id = e.stream_id)
                                  or e.kind = 'alert' and not exists (select from alerts a where a.alert_id = e.stream_id))
from (select event_id, kind, stream_id, seq, at from events where event_id > $1 and event_id <= $4
      order by event_id limit $2) e
order by e.event_id
