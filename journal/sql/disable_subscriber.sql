update subscribers set disabled_at = now(), disabled_by = $2, disabled_reason = $3
where subscriber_id = $1 and disabled_at is null
