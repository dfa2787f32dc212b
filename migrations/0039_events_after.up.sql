-- An execution knows after which number its events come, so that who reads them opens no partition from before it: the latest
-- number that anybody had taken when its row was made, because the row comes before its events. Zero, where it is older than
-- this step: in any.
alter table executions add column events_after bigint not null default 0;
alter table executions alter column events_after set default coalesce(pg_sequence_last_value('event_numbers'::regclass), 0);
