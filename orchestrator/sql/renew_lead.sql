update scheduler set backend_pid = $3, renewed_at = clock_timestamp(), lease_until = clock_timestamp() + make_interval(secs => $4)
where epoch = $1 and node = $2
