drop table forgotten_events;
drop function make_event_partitions(bigint, integer);
drop function drop_event_partitions(bigint);
drop view event_partitions;
alter table events rename to events_apart;
create table events (like events_apart including defaults) with (autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_analyze_threshold = 50000, autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_insert_threshold = 50000);
insert into events select * from events_apart order by event_id;
alter sequence event_numbers owned by events.event_id;
drop table events_apart;
create unique index events_stream on events (stream_id, seq);
create index events_feed on events (xid, event_id);
create unique index events_number on events (event_id);
create index events_output on events (stream_id, seq) where type in ('execution.output', 'execution.log');
create index events_published on events (stream_id, (payload ->> 'event_id'))
    where type in ('execution.output', 'execution.log') and payload ->> 'event_id' is not null;
