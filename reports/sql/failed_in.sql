-- plan: for its parameters
-- What failed in [$1, $2), errors of one kind together, the most frequent first: by their fingerprint, or else without their
-- numbers and ids. $3: of one organization; null: of all.
select organization_id, workflow_type, reason, fingerprint, min(error), count(*), to_json((array_agg(execution_id order by completed_at desc))[1:3])
from (
    select e.organization_id, e.workflow_type, coalesce(e.reason, '') as reason, coalesce(d.fingerprint, '') as fingerprint,
           left(coalesce(d.error, r.error_data ->> 'message', r.error_data::text, ''), 500) as error, e.execution_id, e.completed_at
    from executions e
    left join dead_letters d on d.execution_id = e.execution_id and d.opening = e.opening
    left join execution_results r on r.execution_id = e.execution_id and r.opening = e.opening
    where e.completed_at >= $1 and e.completed_at < $2 and ($3::text is null or e.organization_id = $3)
      and e.status in ('failed', 'dead')
) as failed
group by organization_id, workflow_type, reason, fingerprint,
         case when fingerprint = '' then regexp_replace(error, '[0-9a-f-]*[0-9][0-9a-f-]*', '#', 'g') end
order by count(*) desc limit 200
