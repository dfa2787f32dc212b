update outbox_messages set state = 'pending', failures = 0, failing_since = null, due_at = null, ended_at = null
where subscriber_id = $1 and state = 'failed'
