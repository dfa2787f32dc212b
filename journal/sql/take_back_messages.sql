update outbox_messages set state = 'pending' where subscriber_id = $1 and state = 'in_flight'
