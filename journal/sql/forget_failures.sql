update subscriber_states set failures = 0, failing_since = null, not_before = null where subscriber_id = $1
