-- Most movements of a batch are alike: what they have in common stands there once, as a shape, and each says which is its
-- own. $12 holds the accounts and amounts of the shapes, `count` long from where they say; without a place all are zero.
-- $13 to $16 are what the balances change by. Their budgets are locked, by a statement before: this one sees the balances
-- as they were left by whoever was waited for.
with shapes as materialized (
    select shape, movement, estimated, ($12::bigint[])[accounts_at:accounts_at + count - 1] as accounts,
           coalesce(($12::bigint[])[reserved_at:reserved_at + count - 1], '{}') as reserved,
           coalesce(($12::bigint[])[suspense_at:suspense_at + count - 1], '{}') as suspense,
           coalesce(($12::bigint[])[settled_at:settled_at + count - 1], '{}') as settled
    from unnest($5::text[], $6::boolean[], $7::integer[], $8::integer[], $9::integer[], $10::integer[], $11::integer[])
         with ordinality as s(movement, estimated, count, accounts_at, reserved_at, suspense_at, settled_at, shape)
), posted as (
    insert into ledger_movements (execution_id, attempt_id, movement, ordinal, accounts, reserved, suspense, settled, estimated)
    select execution_id, attempt_id, movement, ordinal, accounts, reserved, suspense, settled, estimated
    from unnest($1::uuid[], $2::uuid[], $3::integer[], $4::bigint[]) with ordinality as m(execution_id, attempt_id, ordinal, shape, n)
    join shapes using (shape)
    order by n
)
update budget_balances b
set reserved = b.reserved + m.reserved, suspense = b.suspense + m.suspense, settled = b.settled + m.settled, updated_at = now()
from unnest($13::bigint[], $14::numeric[], $15::numeric[], $16::numeric[]) as m(account_id, reserved, suspense, settled)
join ledger_accounts a using (account_id)
where (b.budget_id, b.window_start, b.window_end) = (a.budget_id, a.window_start, a.window_end)
