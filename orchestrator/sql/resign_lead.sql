update scheduler set lease_until = '-infinity', backend_pid = null where epoch = $1 and node = $2
