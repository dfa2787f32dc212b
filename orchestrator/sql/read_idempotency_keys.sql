-- The winners, in a statement of their own: it sees what was committed meanwhile.
select organization_id, owner, route, key, body_sha256, status, answer from idempotency_keys
where (organization_id, owner, route, key) in (select * from unnest($1::text[], $2::text[], $3::text[], $4::text[]))
