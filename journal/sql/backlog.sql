select (select count(*) from outbox_messages where subscriber_id = $1 and state = 'pending'),
       (select count(*) from outbox_messages where subscriber_id = $1 and state = 'in_flight'),
       (select count(*) from outbox_messages where subscriber_id = $1 and state = 'failed'),
       (select e.at from outbox_messages m join events e using (event_id)
        where m.subscriber_id = $1 and m.state in ('pending', 'in_flight') order by m.event_id limit 1),
       (select count(*) from outbox_replays where subscriber_id = $1)
