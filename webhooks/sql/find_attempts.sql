select execution_id, attempt_id, number, opening, outcome, callback_sha256, callback_answer, cost_microusd
from attempts where (execution_id, attempt_id) in (select * from unnest($1::uuid[], $2::uuid[]))
