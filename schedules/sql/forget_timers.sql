delete from timers where ctid = any(array(
    select ctid from timers where state <> 'waiting' and ended_at < now() - make_interval(secs => $1) limit 1000))
