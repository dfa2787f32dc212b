update outbox_messages set state = 'pending' where state = 'in_flight'
