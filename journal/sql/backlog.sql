select (select count(*) from outbox_messages where subscriber_id = $1 and state = 'pending'),
       (select count(*) from outbox_messages where subscriber_id = $1 and state = 'in_flight'),
       (select count(*) from outbox_messages where subscriber_id = $1 and state = 'failed'),
       (select count(*) from outbox_replays where subscriber_id = $1)
