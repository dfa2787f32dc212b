-- Arrays in their text form: one of each movement.
insert into ledger_movements (execution_id, attempt_id, movement, ordinal, accounts, reserved, suspense, settled, estimated)
select execution_id, attempt_id, movement, ordinal, accounts::bigint[], reserved::bigint[], suspense::bigint[],
       settled::bigint[], estimated
from unnest($1::uuid[], $2::uuid[], $3::text[], $4::integer[], $5::text[], $6::text[], $7::text[], $8::text[], $9::boolean[])
     as m(execution_id, attempt_id, movement, ordinal, accounts, reserved, suspense, settled, estimated)
