-- plan: for its parameters
-- With the workflow type that an execution or a lane is of, which readers choose by.
select e.event_id, e.kind, e.stream_id, e.seq, e.organization_id, coalesce(x.workflow_type, t.name, ''), e.type, e.at,
       e.payload
from (select * from events where event_id > $1 and event_id <= $2 order by event_id limit $3) as e
left join executions x on e.kind = 'execution' and x.execution_id = e.stream_id
left join workflow_types t on e.kind = 'lane' and t.lane_id = e.stream_id
order by e.event_id
