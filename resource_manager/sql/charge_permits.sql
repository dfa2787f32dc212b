-- Most grants of a turn ask alike: that stands there once, as a shape, and each says which is its own. $12 holds the
-- providers of the shapes one after the other, $13 for each shape its calls, tokens, items and costs, a list each.
with shapes as materialized (
    select shape, organization_id, workflow_type, lease_until, ($12::text[])[first:first + count - 1] as providers,
           ($13::bigint[])[4 * first - 3:4 * first - 4 + count] as calls,
           ($13::bigint[])[4 * first - 3 + count:4 * first - 4 + 2 * count] as tokens,
           ($13::bigint[])[4 * first - 3 + 2 * count:4 * first - 4 + 3 * count] as items,
           ($13::bigint[])[4 * first - 3 + 3 * count:4 * first - 4 + 4 * count] as cost_microusd
    from unnest($7::text[], $8::text[], $9::timestamptz[], $10::integer[], $11::integer[])
         with ordinality as s(organization_id, workflow_type, lease_until, first, count, shape)
)
insert into permits (attempt_id, fence, execution_id, organization_id, workflow_type, delivery, lease_until, providers, calls,
                     tokens, items, cost_microusd, limit_keys)
select attempt_id, fence, execution_id, organization_id, workflow_type, delivery, lease_until, providers, calls, tokens, items,
       cost_microusd, limit_keys
from unnest($1::uuid[], $2::integer[], $3::uuid[], $4::integer[], $5::bigint[], $6::text[])
     as p(attempt_id, fence, execution_id, delivery, shape, limit_keys)
join shapes using (shape)
