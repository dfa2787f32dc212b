insert into outbox_messages as m (subscriber_id, event_id, state)
select $1, event_id, 'pending' from events
where stream_id = $2 and seq = $3 and ($4 = '' or organization_id = $4)
on conflict (subscriber_id, event_id) do update
    set state = case when m.state in ('published', 'failed') then 'pending' else m.state end,
        failures = 0, failing_since = null, due_at = null, ended_at = null
