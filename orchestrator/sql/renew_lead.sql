update scheduler set backend_pid = $1, renewed_at = clock_timestamp(), lease_until = clock_timestamp() + make_interval(secs => $2),
    outage_from = $3, outage_until = $4, outage_microseconds = $5
