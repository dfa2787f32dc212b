drop table outbox_replays, outbox_deliveries, outbox_messages, subscriber_states, subscribers;
