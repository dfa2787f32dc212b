-- When one of each type last started and ended, and when the next one may start: of what waits as soon as its lane's gate
-- opens, or else as its schedules say. null: nobody knows.
select t.name, l.started_at, l.ended_at,
       case when waits.yes then case when g.gate is null then now() else greatest(g.opens_at, case when g.opens_at is not null then now() end) end
            else s.next_due_at end
from workflow_types t
left join lane_times l on l.organization_id = t.organization_id and l.workflow_type = t.name
left join lane_gates g on g.organization_id = t.organization_id and g.workflow_type = t.name and g.ended_at is null
cross join lateral (select exists (select from executions e where e.organization_id = t.organization_id and e.workflow_type = t.name
                                                              and e.ready) as yes) waits
left join (select definition ->> 'workflow_type' as workflow_type, min(next_due_at) as next_due_at
           from schedules join schedule_states using (schedule_id)
           where organization_id = $1 and coalesce((definition ->> 'enabled')::boolean, true)
             and (paused_at is null or paused_until <= next_due_at)
           group by 1) s on s.workflow_type = t.name
where t.organization_id = $1 and ($2::text is null or t.name = $2)
