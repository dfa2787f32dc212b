insert into dead_letters (execution_id, opening, organization_id, workflow_type, reason, error, fingerprint, node, attempts)
select * from unnest($1::uuid[], $2::integer[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::uuid[], $9::integer[])
on conflict (execution_id, opening) do nothing
