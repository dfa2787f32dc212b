-- What the subscriber has not come to yet it is told of anyway.
with found as (
    select e.event_id, e.event_id <= t.position as passed
    from events e join subscriber_states t on t.subscriber_id = $1
    where e.stream_id = $2 and e.seq = $3
      and e.event_id > coalesce((select events_after from executions where execution_id = $2), 0)
      and ($4 = '' or e.organization_id = $4)
), put as (
    insert into outbox_messages as m (subscriber_id, event_id, state)
    select $1, event_id, 'pending' from found where passed
    on conflict (subscriber_id, event_id) do update
        set state = 'pending', failures = 0, failing_since = null, due_at = null, ended_at = null
        where m.state in ('published', 'failed')
    returning event_id
)
select (select count(*) from found), (select count(*) from put)
