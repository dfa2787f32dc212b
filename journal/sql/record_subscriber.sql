update subscriber_states
set failures = $2, failing_since = $3, not_before = $4, published = published + $5, failed = failed + $6,
    last_published_at = coalesce($7, last_published_at), last_error = $8
where subscriber_id = $1
