select release_lock($2, $4, $1, $3)
