update scheduler set epoch = epoch + 1, node = $1, backend_pid = $2, renewed_at = clock_timestamp(),
    lease_until = clock_timestamp() + make_interval(secs => $3),
    outage_from = $4, outage_until = $5, outage_microseconds = $6
returning epoch
