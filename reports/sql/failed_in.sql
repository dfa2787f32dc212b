-- plan: for its parameters
-- What failed in [$1, $2), the same errors together, the most frequent first. $3: of one organization; null: of all.
select e.organization_id, e.workflow_type, coalesce(e.reason, ''), coalesce(d.fingerprint, ''),
       left(coalesce(d.error, r.error_data ->> 'message', r.error_data::text, ''), 500) as error, count(*),
       to_json((array_agg(e.execution_id order by e.completed_at desc))[1:3])
from executions e
left join dead_letters d on d.execution_id = e.execution_id and d.opening = e.opening
left join execution_results r on r.execution_id = e.execution_id and r.opening = e.opening
where e.completed_at >= $1 and e.completed_at < $2 and ($3::text is null or e.organization_id = $3)
  and e.status in ('failed', 'dead')
group by 1, 2, 3, 4, 5
order by count(*) desc limit 200
