select position, failures, failing_since, not_before, published, failed, last_published_at, last_error
from subscriber_states where subscriber_id = $1 for update
