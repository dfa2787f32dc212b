delete from lane_gates where ctid = any(array(
    select ctid from lane_gates where ended_at < now() - interval '30 days' limit 10000))
