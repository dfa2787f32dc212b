-- plan: for its parameters
-- With the workflow type that an execution or a lane is of, which readers choose by.
select @numbered_event_columns@
from (select * from events where event_id > $1 and event_id <= $2 order by event_id limit $3) as e
@with_workflow_types@
order by e.event_id
