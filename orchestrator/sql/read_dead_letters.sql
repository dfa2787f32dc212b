-- $1: of those that came within so many seconds; null: of all.
select json_build_object('organization', organization_id, 'workflow_type', workflow_type), count(*),
       to_json((array_agg(execution_id order by at desc))[1:20])
from dead_letters where resolved_at is null and ($1::double precision is null or at > now() - make_interval(secs => $1))
group by organization_id, workflow_type
