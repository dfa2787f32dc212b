select count(*), min(coalesce(due_at, now())) filter (where state = 'pending')
from outbox_messages where subscriber_id = $1 and state in ('pending', 'in_flight')
