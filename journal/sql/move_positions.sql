update subscriber_states s set position = t.position
from unnest($1::uuid[], $2::bigint[]) as t(subscriber_id, position)
where s.subscriber_id = t.subscriber_id and s.position < t.position
