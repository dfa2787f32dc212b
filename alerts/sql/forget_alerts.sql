-- With the places of their streams; a message that nobody has settled for so long is over as well.
with gone as (
    delete from alerts where ctid = any(array(
        select ctid from alerts where phase = 'resolved' and ends_at < now() - make_interval(secs => $1) limit 1000))
      and phase = 'resolved' and ends_at < now() - make_interval(secs => $1)
    returning alert_id
), places as (
    delete from forgotten_events where stream_id in (select alert_id from gone)
), messages as (
    delete from notifications where ctid = any(array(
        select ctid from notifications where created_at < now() - make_interval(secs => $1) limit 1000)) returning 1
), silenced as (
    delete from silences where ctid = any(array(
        select ctid from silences where ends_at < now() - make_interval(secs => $1) limit 1000))
      and ends_at < now() - make_interval(secs => $1)
    returning 1
)
select (select count(*) from gone) + (select count(*) from messages) + (select count(*) from silenced)
