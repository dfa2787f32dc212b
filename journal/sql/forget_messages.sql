delete from outbox_messages where ctid = any(array(
    select ctid from outbox_messages where ended_at < now() - make_interval(secs => $1) limit 5000))
