select acquire_lock($2, $3, make_interval(secs => $5), $1, $4)
