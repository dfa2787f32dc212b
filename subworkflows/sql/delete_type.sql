-- Only what nothing alive refers to.
with gone as (
    delete from workflow_types t
    where organization_id = $1 and name = $2
      and not exists (select from executions e where e.organization_id = $1 and e.workflow_type = $2
                      and (e.ready or e.due_at is not null or e.timeout_at is not null or e.gate is not null or e.open_children > 0))
    returning organization_id, name), times as (
    delete from lane_times using gone where lane_times.organization_id = gone.organization_id and workflow_type = gone.name)
select from gone
