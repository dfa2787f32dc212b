-- Says that the node is there, and hears which hubs may be (protocol R23).
insert into nodes (node, name, hub_version, state, backend_pid, heartbeat_at, lease_until)
values ($1, $2, $3, $4, $5, clock_timestamp(), clock_timestamp() + make_interval(secs => $6))
on conflict (node) do update set state = excluded.state, backend_pid = excluded.backend_pid,
    heartbeat_at = excluded.heartbeat_at, lease_until = excluded.lease_until
returning (select min_hub from schema_version)
