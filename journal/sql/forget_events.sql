-- plan: for its parameters
with page as materialized (
    select event_id, kind, stream_id, seq, at < now() - make_interval(secs => $3) as old
    from events where event_id > $1 and event_id <= $4 order by event_id limit $2
), gone as (
    delete from events e using page p
    where e.event_id = p.event_id and p.kind <> 'execution' and p.old
      and exists (select from events l where l.stream_id = p.stream_id and l.seq > p.seq)
    returning e.event_id
), noted as (
    update retention set events_until = greatest(events_until, (select max(event_id) from gone)),
                         events = events + (select count(*) from gone)
    where exists (select from gone)
)
select (select count(*) from gone), (select max(event_id) from page having bool_and(old))
