select renew_lock($2, $4, make_interval(secs => $5), $1, $3)
