with chosen as (
    select event_id from outbox_messages
    where subscriber_id = $1 and state = 'failed' and event_id > $2 and event_id <= $3 order by event_id limit $4
)
update outbox_messages m
set state = 'in_flight', failures = 0, failing_since = null, due_at = null, error = '', ended_at = null
from chosen c where m.subscriber_id = $1 and m.event_id = c.event_id and m.state = 'failed'
returning m.event_id
