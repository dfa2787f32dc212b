delete from idempotency_keys where ctid = any(array(
    select ctid from idempotency_keys where created_at < now() - interval '24 hours' limit 10000))
