-- Somebody may be setting one of them again. With the places of their streams.
with gone as (
    delete from timers where ctid = any(array(
        select ctid from timers where state <> 'waiting' and ended_at < now() - make_interval(secs => $1) limit 1000))
      and state <> 'waiting' and ended_at < now() - make_interval(secs => $1)
    returning timer_id
), places as (
    delete from forgotten_events where stream_id in (select timer_id from gone)
)
select count(*) from gone
