-- A late result that was accepted: the attempt that had been closed without one has its callback now.
update attempts a set outcome = t.outcome, callback_sha256 = t.callback_sha256, callback_answer = t.callback_answer::json,
    cost_microusd = t.cost_microusd
from unnest($1::uuid[], $2::uuid[], $3::text[], $4::bytea[], $5::text[], $6::bigint[])
    as t(execution_id, attempt_id, outcome, callback_sha256, callback_answer, cost_microusd)
where a.execution_id = t.execution_id and a.attempt_id = t.attempt_id
