with gone as (
    delete from alerts where ctid = any(array(
        select ctid from alerts where phase = 'resolved' and ends_at < now() - make_interval(secs => $1) limit 1000)) returning 1
), messages as (
    delete from notifications where ctid = any(array(
        select ctid from notifications where state <> 'in_flight' and created_at < now() - make_interval(secs => $1) limit 1000)) returning 1
), silenced as (
    delete from silences where ctid = any(array(
        select ctid from silences where ends_at < now() - make_interval(secs => $1) limit 1000)) returning 1
)
select (select count(*) from gone) + (select count(*) from messages) + (select count(*) from silenced)
