select e.at from outbox_messages m join events e using (event_id)
where m.subscriber_id = $1 and m.state in ('pending', 'in_flight') order by m.event_id limit 1
