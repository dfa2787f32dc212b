-- How much of its timeout that one has used that has used most of it, and who else has used most of his.
select json_build_object('organization', organization_id, 'workflow_type', workflow_type), max(used),
       coalesce(json_agg(execution_id order by used desc) filter (where used >= 80 and place <= 20), '[]')
from (select *, row_number() over (partition by organization_id, workflow_type order by used desc) as place
      from (select e.execution_id, e.organization_id, e.workflow_type,
                   100 * (1 - extract(epoch from e.timeout_at - now()) / t.timeout_seconds) as used
            from executions e join workflow_types t on t.organization_id = e.organization_id and t.name = e.workflow_type
            where e.timeout_at is not null) each) placed
where used > 0
group by organization_id, workflow_type
