-- Streams follow all events by one number, in the order in which they are written (protocol R13). A transaction has its xid
-- before it takes a number: so once every transaction has ended that was under way when a number was the latest, all
-- numbers up to it are settled, and nothing comes to stand before it any more.
create unique index events_number on events (event_id);
alter table events alter column event_id drop identity;
create sequence event_numbers as bigint owned by events.event_id;
select setval('event_numbers', coalesce(max(event_id), 1), max(event_id) is not null) from events;
alter table events alter column event_id
    set default case when pg_current_xact_id() is not null then nextval('event_numbers') end;
