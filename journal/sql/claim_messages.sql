-- Those first that have been sent least often. In order ($3) nothing goes before the first, due or not: the subscriber
-- itself waits then.
with chosen as (
    select event_id from outbox_messages
    where subscriber_id = $1 and state = 'pending' and ($3 or due_at is null or due_at <= clock_timestamp())
    order by case when $3 then 0 else deliveries end, event_id limit $2
)
update outbox_messages m set state = 'in_flight', due_at = null from chosen c
where m.subscriber_id = $1 and m.event_id = c.event_id and m.state = 'pending'
returning m.event_id, m.deliveries, m.failures, m.failing_since
