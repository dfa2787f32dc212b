update outbox_messages m
set state = t.state, deliveries = t.deliveries, failures = t.failures, failing_since = t.failing_since,
    due_at = t.due_at, error = t.error, ended_at = case when t.state in ('published', 'failed') then now() end
from unnest($2::bigint[], $3::text[], $4::integer[], $5::integer[], $6::timestamptz[], $7::timestamptz[], $8::text[])
    as t(event_id, state, deliveries, failures, failing_since, due_at, error)
where m.subscriber_id = $1 and m.event_id = t.event_id and m.state = 'in_flight'
returning m.event_id
