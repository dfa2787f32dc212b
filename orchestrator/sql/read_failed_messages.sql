select json_build_object('organization', s.organization_id, 'subscriber', s.name), count(*), '[]'
from subscribers s join outbox_messages m using (subscriber_id)
where s.deleted_at is null and m.state = 'failed' and m.ended_at > now() - interval '1 hour'
group by s.organization_id, s.name
