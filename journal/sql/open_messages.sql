-- What waits for its time is not in the way of others before it is very much.
select count(*) filter (where state = 'in_flight' or due_at is null or due_at <= clock_timestamp()) >= 1000
           or count(*) >= 20000,
       min(coalesce(due_at, now())) filter (where state = 'pending')
from outbox_messages where subscriber_id = $1 and state in ('pending', 'in_flight')
