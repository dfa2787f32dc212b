select name, owner, token, acquired_at, free_at, held, execution_id from break_lock($2, $1)
