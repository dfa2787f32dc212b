-- What is open and what is being told again goes before what each has come to.
select coalesce(min(least(
    t.position,
    (select min(event_id) - 1 from outbox_messages m
     where m.subscriber_id = s.subscriber_id and m.state in ('pending', 'in_flight')),
    (select min(r.position) from outbox_replays r where r.subscriber_id = s.subscriber_id))), 9223372036854775807)
from subscribers s join subscriber_states t using (subscriber_id) where s.disabled_at is null and s.deleted_at is null
  and ($1 = '' or s.organization_id in ($1, 'default'))
