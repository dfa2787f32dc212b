update subscribers
set definition = $2::json, secrets_sealed = $3, version = version + 1, updated_at = now(), updated_by = $4
where subscriber_id = $1
