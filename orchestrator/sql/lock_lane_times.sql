-- In the order in which they are noted.
select t.organization_id, t.workflow_type, t.started_at, t.ended_at
from lane_times t join unnest($1::text[], $2::text[]) as l(organization_id, workflow_type) using (organization_id, workflow_type)
order by 1, 2 for update of t
