with gone as (
    delete from events where event_id = any($1::bigint[]) and kind <> 'execution' returning event_id
), noted as (
    update retention set events_until = greatest(events_until, coalesce((select max(event_id) from gone), 0)),
                         events = events + (select count(*) from gone)
)
select count(*) from gone
