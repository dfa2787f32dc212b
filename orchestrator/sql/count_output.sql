update executions set last_seq = $2, updated_at = now() where execution_id = $1
