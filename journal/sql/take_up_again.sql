-- Once more: those that are open are told anyway.
insert into outbox_messages as m (subscriber_id, event_id, state) select $1, unnest($2::bigint[]), 'in_flight'
on conflict (subscriber_id, event_id) do update
    set state = 'in_flight', failures = 0, failing_since = null, due_at = null, error = '', ended_at = null
    where m.state in ('published', 'failed')
returning event_id
