-- $10 holds the providers of all grants one after the other, $11 for each grant its calls, tokens, items and costs, a list
-- each.
insert into permits (attempt_id, fence, execution_id, organization_id, workflow_type, delivery, lease_until, providers, calls,
                     tokens, items, cost_microusd, limit_keys)
select attempt_id, fence, execution_id, organization_id, workflow_type, delivery, lease_until,
       ($10::text[])[first:first + count - 1], ($11::bigint[])[4 * first - 3:4 * first - 4 + count],
       ($11::bigint[])[4 * first - 3 + count:4 * first - 4 + 2 * count],
       ($11::bigint[])[4 * first - 3 + 2 * count:4 * first - 4 + 3 * count],
       ($11::bigint[])[4 * first - 3 + 3 * count:4 * first - 4 + 4 * count], limit_keys
from unnest($1::uuid[], $2::integer[], $3::uuid[], $4::text[], $5::text[], $6::integer[], $7::timestamptz[], $8::integer[],
            $9::integer[], $12::text[])
     as p(attempt_id, fence, execution_id, organization_id, workflow_type, delivery, lease_until, first, count, limit_keys)
