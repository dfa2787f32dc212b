update subscribers set disabled_at = null, disabled_by = null, disabled_reason = null
where subscriber_id = $1 and disabled_at is not null
