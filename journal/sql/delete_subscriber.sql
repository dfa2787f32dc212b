update subscribers set deleted_at = now() where subscriber_id = $1 and deleted_at is null
