-- $11 holds the accounts and amounts of all movements, each list where its movement says, `count` long. Without a place: all
-- are zero.
insert into ledger_movements (execution_id, attempt_id, movement, ordinal, accounts, reserved, suspense, settled, estimated)
select execution_id, attempt_id, movement, ordinal, ($11::bigint[])[accounts_at:accounts_at + count - 1],
       coalesce(($11::bigint[])[reserved_at:reserved_at + count - 1], '{}'),
       coalesce(($11::bigint[])[suspense_at:suspense_at + count - 1], '{}'),
       coalesce(($11::bigint[])[settled_at:settled_at + count - 1], '{}'), estimated
from unnest($1::uuid[], $2::uuid[], $3::text[], $4::integer[], $5::integer[], $6::integer[], $7::integer[], $8::integer[],
            $9::integer[], $10::boolean[])
     as m(execution_id, attempt_id, movement, ordinal, count, accounts_at, reserved_at, suspense_at, settled_at, estimated)
