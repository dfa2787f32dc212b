update notifications set state = $2, error = $3, settled_at = now() where notification_id = $1
