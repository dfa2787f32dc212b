insert into provider_permits (attempt_id, fence, provider, execution_id, organization_id, workflow_type, delivery, calls,
                              tokens, items, cost_microusd, lease_until)
select * from unnest($1::uuid[], $2::integer[], $3::text[], $4::uuid[], $5::text[], $6::text[], $7::integer[], $8::bigint[],
                     $9::bigint[], $10::bigint[], $11::bigint[], $12::timestamptz[])
