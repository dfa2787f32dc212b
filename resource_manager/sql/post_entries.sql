-- What is there already was booked before and moves nothing.
with posted as (
    insert into ledger_entries (execution_id, attempt_id, movement, ordinal, budget_id, window_start, window_end, available,
                                reserved, suspense, settled, estimated)
    select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::integer[], $5::uuid[], $6::timestamptz[], $7::timestamptz[],
                         $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::boolean[])
    on conflict do nothing
    returning budget_id, window_start, window_end, reserved, suspense, settled
), moved as (
    select budget_id, window_start, window_end, sum(reserved) as reserved, sum(suspense) as suspense, sum(settled) as settled
    from posted group by 1, 2, 3
)
update budget_balances a
set reserved = a.reserved + m.reserved, suspense = a.suspense + m.suspense, settled = a.settled + m.settled, updated_at = now()
from moved m
where (a.budget_id, a.window_start, a.window_end) = (m.budget_id, m.window_start, m.window_end)
