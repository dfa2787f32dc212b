drop table idempotency_keys, dead_letters, refused_callbacks, deliveries, attempts;
