-- Arrays in their text form: one of each grant.
insert into permits (attempt_id, fence, execution_id, organization_id, workflow_type, delivery, lease_until, providers, calls,
                     tokens, items, cost_microusd, limit_keys)
select attempt_id, fence, execution_id, organization_id, workflow_type, delivery, lease_until, providers::text[],
       calls::bigint[], tokens::bigint[], items::bigint[], cost::bigint[], limit_keys
from unnest($1::uuid[], $2::integer[], $3::uuid[], $4::text[], $5::text[], $6::integer[], $7::timestamptz[], $8::text[],
            $9::text[], $10::text[], $11::text[], $12::text[], $13::text[])
     as p(attempt_id, fence, execution_id, organization_id, workflow_type, delivery, lease_until, providers, calls, tokens, items, cost, limit_keys)
