delete from outbox_deliveries where delivery_id = any(array(
    select delivery_id from (select delivery_id, at from outbox_deliveries order by delivery_id limit 5000) as oldest
    where at < now() - make_interval(secs => $1)))
