-- $1: of those that came within so many seconds; null: of all.
select json_build_object('organization', d.organization_id, 'workflow_type', d.workflow_type), count(*),
       coalesce((select json_agg(execution_id) from (
           select n.execution_id from dead_letters n
           where n.organization_id = d.organization_id and n.workflow_type = d.workflow_type and n.resolved_at is null
             and ($1::double precision is null or n.at > now() - make_interval(secs => $1))
           order by n.at desc limit 20) newest), '[]')
from dead_letters d where d.resolved_at is null and ($1::double precision is null or d.at > now() - make_interval(secs => $1))
group by d.organization_id, d.workflow_type
