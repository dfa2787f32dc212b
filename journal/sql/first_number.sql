-- From there on all that there was is there.
select greatest((select event_id from events order by event_id limit 1), (select events_until + 1 from retention))
where exists (select from events) or exists (select from retention where events_until > 0)
