-- The journal lies in partitions by number, which grows with time: what is old goes at once, with its space, and who reads
-- on from a number opens only what comes after it. Each partition but the last has an end; the last has none, so that every
-- event has a place whatever becomes of the hub.
alter table events rename to events_0;
alter index events_stream rename to events_0_stream;
alter index events_feed rename to events_0_feed;
alter index events_number rename to events_0_number;
alter index events_output rename to events_0_output;
alter index events_published rename to events_0_published;

create table events (like events_0 including defaults) partition by range (event_id);
alter sequence event_numbers owned by events.event_id;
-- Unique (stream_id, seq) stands on each partition: an index over all of them would have to begin with the number. Within one
-- it stops what it stopped before; over several, seq is handed out under the lock of the row that owns the stream, and fsck
-- finds whatever else comes about.
create unique index events_number on events (event_id);
create index events_feed on events (xid, event_id);
create index events_output on events (stream_id, seq) where type in ('execution.output', 'execution.log');
create index events_published on events (stream_id, (payload ->> 'event_id'))
    where type in ('execution.output', 'execution.log') and payload ->> 'event_id' is not null;
-- Nothing is read for this: without bounds there is nothing to be proved. make_event_partitions gives it its end.
alter table events attach partition events_0 for values from (minvalue) to (maxvalue);

-- Numbers from `first` up to before `next`; null: from the beginning, without an end.
create view event_partitions as
select c.oid::regclass as partition, substring(b.bound from 'FROM \(''(-?\d+)''')::bigint as first,
       substring(b.bound from 'TO \(''(-?\d+)''')::bigint as next, pg_total_relation_size(c.oid) as bytes
from pg_inherits i join pg_class c on c.oid = i.inhrelid, pg_get_expr(c.relpartbound, c.oid) as b(bound)
where i.inhparent = 'events'::regclass;

-- Sees to it that so many partitions with an end lie wholly beyond the latest number, each of so many numbers, and returns
-- the number from which on that will not be so any more. The last partition gets its end, and a new last one comes after it;
-- one that has filled meanwhile (nobody was there to see to it) is read for that, and events wait for as long.
-- Never waits for a lock: who waits for this one has everybody else wait behind him. Where somebody is at the journal it is
-- refused (55P03), and asked for again.
create function make_event_partitions(p_size bigint, p_ahead integer) returns bigint language plpgsql as $$
declare
    v_locked boolean := false;
    v_latest bigint;
    v_wanted bigint;
    v_last   event_partitions;
    v_next   bigint;
    v_new    text;
begin
    loop
        select case when is_called then last_value else 0 end into v_latest from event_numbers;
        -- Of those beyond the latest number the one that has p_ahead - 1 after it.
        select first into v_wanted from event_partitions where first > v_latest and next is not null
        order by first desc offset p_ahead - 1 limit 1;
        if found then return v_wanted; end if;
        if not v_locked then
            lock table events in access exclusive mode nowait;
            v_locked := true;
            continue;
        end if;
        select * into strict v_last from event_partitions where next is null;
        -- Who vacuums it does not hold the journal.
        execute format('lock table %s in access exclusive mode nowait', v_last.partition);
        v_next := greatest(v_last.first, v_latest + 1) + p_size;
        v_new := 'events_' || v_next;
        execute format('alter table events detach partition %s', v_last.partition);
        execute format('alter table events attach partition %s for values from (%s) to (%s)',
                       v_last.partition, coalesce(v_last.first::text, 'minvalue'), v_next);
        execute format('create table %I (like events including all) with (autovacuum_vacuum_insert_scale_factor = 0.05, '
                       'autovacuum_vacuum_insert_threshold = 50000, autovacuum_analyze_threshold = 50000, '
                       'autovacuum_analyze_scale_factor = 0.05)', v_new);
        execute format('create unique index on %I (stream_id, seq)', v_new);
        execute format('alter table events attach partition %I for values from (%s) to (maxvalue)', v_new, v_next);
    end loop;
end $$;

-- Drops the partitions without a single event of which all numbers are settled (nobody who has taken one is still under way):
-- up to p_settled. Returns how many. Never waits for a lock either.
create function drop_event_partitions(p_settled bigint) returns integer language plpgsql as $$
declare
    v_each  regclass;
    v_any   boolean;
    v_empty regclass[] := '{}';
begin
    for v_each in select partition from event_partitions where next <= p_settled + 1 order by next loop
        execute format('select exists (select from %s order by event_id limit 1)', v_each) into v_any;
        if not v_any then v_empty := v_empty || v_each; end if;
    end loop;
    if v_empty = '{}' then return 0; end if;
    lock table events in access exclusive mode nowait;
    foreach v_each in array v_empty loop
        execute format('lock table %s in access exclusive mode nowait', v_each);
        execute format('select exists (select from %s order by event_id limit 1)', v_each) into v_any;
        if v_any then raise 'partition % was empty and is not any more', v_each; end if;
        execute format('drop table %s', v_each);
    end loop;
    return cardinality(v_empty);
end $$;

select make_event_partitions(1000000, 2);

-- Of streams whose old events have gone after their time (not executions', which go whole): the seq of the last one that has.
-- So nothing of a stream has to stay for it to be known where it goes on, and no partition for a single event.
create table forgotten_events (
    stream_id uuid primary key,
    seq       integer not null
);
