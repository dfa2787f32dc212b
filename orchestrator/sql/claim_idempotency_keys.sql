-- Whoever inserts the key first owns it; waits for a concurrent owner to commit or give up.
insert into idempotency_keys (organization_id, owner, route, key, body_sha256, status, answer)
select t.organization_id, t.owner, t.route, t.key, t.body_sha256, t.status, t.answer::json
from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bytea[], $6::integer[], $7::text[])
    as t(organization_id, owner, route, key, body_sha256, status, answer)
order by 1, 2, 3, 4
on conflict do nothing
returning organization_id, owner, route, key
