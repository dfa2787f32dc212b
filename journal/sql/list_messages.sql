-- plan: for its parameters
-- Also those whose event is not kept any more.
select m.event_id, coalesce(e.kind, ''), coalesce(e.stream_id, '00000000-0000-0000-0000-000000000000'), coalesce(e.seq, 0),
       coalesce(e.organization_id, ''), coalesce(x.workflow_type, t.name, ''), coalesce(e.type, ''),
       coalesce(e.at, m.created_at), coalesce(e.payload, '{}'), m.state, m.deliveries, m.failures, m.failing_since,
       m.due_at, m.error, m.created_at, m.ended_at
from (select * from outbox_messages where subscriber_id = $1 and ($2::text is null or state = $2)
      and ($3::bigint is null or event_id < $3) order by event_id desc limit $4) as m
left join events e using (event_id)
@with_workflow_types@
order by m.event_id desc
