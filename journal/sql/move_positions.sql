update subscriber_states t set position = m.position
from unnest($1::uuid[], $2::bigint[], $3::integer[]) as m(subscriber_id, position, version)
join subscribers s using (subscriber_id)
where t.subscriber_id = m.subscriber_id and t.position < m.position and s.version = m.version
