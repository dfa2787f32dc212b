alter table events alter column event_id drop default;
drop sequence event_numbers;
alter table events alter column event_id add generated always as identity;
select setval(pg_get_serial_sequence('events', 'event_id'), coalesce(max(event_id), 1), max(event_id) is not null)
from events;
drop index events_number;
