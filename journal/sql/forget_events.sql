-- Where each stream goes on from is kept: so it is still known that nothing else is missing.
with gone as (
    delete from events where event_id = any($1::bigint[]) and kind <> 'execution' returning event_id, kind, stream_id, seq
), begins as (
    insert into forgotten_events as f (stream_id, seq)
    select stream_id, max(seq) from gone g
    -- Of what is not there any more nobody asks where its stream goes on.
    where case kind when 'timer' then exists (select from timers t where t.timer_id = g.stream_id)
                    when 'alert' then exists (select from alerts a where a.alert_id = g.stream_id)
                    when 'node' then exists (select from nodes n where n.node = g.stream_id)
                    else true end
    group by 1 order by 1
    on conflict (stream_id) do update set seq = greatest(f.seq, excluded.seq)
), noted as (
    update retention set events_until = greatest(events_until, coalesce((select max(event_id) from gone), 0)),
                         events = events + (select count(*) from gone)
)
select count(*) from gone
