update api_keys set revoked_at = now() where key_id = $1 and revoked_at is null
