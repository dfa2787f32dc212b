-- plan: for its parameters
select @numbered_event_columns@, m.state, m.deliveries, m.failures, m.failing_since, m.due_at, m.error, m.created_at,
       m.ended_at
from (select * from outbox_messages where subscriber_id = $1 and ($2::text is null or state = $2)
      and ($3::bigint is null or event_id < $3) order by event_id desc limit $4) as m
join events e using (event_id)
@with_workflow_types@
order by e.event_id desc
