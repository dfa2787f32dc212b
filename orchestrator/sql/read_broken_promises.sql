-- Lanes that fsck holds (its reason begins with the promise), and what concerned no lane, which nobody resumes: for an hour.
select json_build_object('organization', organization_id, 'workflow_type', workflow_type, 'promise', split_part(reason, ' ', 1)),
       1::bigint, '[]'
from pauses where paused_by = 'fsck'
union all
select json_build_object('organization', 'default', 'workflow_type', 'none', 'promise', e.payload ->> 'promise'), count(*), '[]'
from nodes n join events e on e.stream_id = n.node
where e.type = 'node.promise_broken' and e.at > now() - interval '1 hour'
group by e.payload ->> 'promise'
