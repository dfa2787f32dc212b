-- Who waited then and had not been started before, of the newest that were there: how many there were of those, and how many
-- of the lane, and of all, went before it by the score of then.
select count(*), count(*) filter (where w.waited and w.workflow_type = $2), count(*) filter (where w.waited)
from (
    select e.workflow_type,
           e.execution_id <> $5 and e.scheduled_at <= $6 and (e.started_at is null or e.started_at > $6)
           and (e.completed_at is null or e.completed_at > $6)
           and (execution_score(e.priority, e.created_at, $6), $4::timestamptz, $5::uuid)
               > (execution_score($3, $4, $6), e.created_at, e.execution_id) as waited
    from executions e where e.organization_id = $1 and e.created_at <= $6
    order by e.created_at desc, e.execution_id desc limit $7) w
