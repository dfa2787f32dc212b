-- How often somebody came to lead within 15 minutes, beside the first of all.
select '{}', count(*) - (count(*) filter (where e.payload ->> 'epoch' = '1')), '[]'
from nodes n join events e on e.stream_id = n.node
where e.type = 'node.leads' and e.at > now() - interval '15 minutes'
