select count(*), coalesce(max(event_id), 0) from outbox_messages where subscriber_id = $1 and state = 'failed'
