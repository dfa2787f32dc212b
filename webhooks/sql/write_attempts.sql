insert into attempts (execution_id, number, attempt_id, opening, node, endpoint_id, deliveries, granted_at, accepted_at,
                      closed_at, outcome, detail, callback_sha256, callback_answer, cost_microusd)
select t.execution_id, t.number, t.attempt_id, t.opening, t.node, t.endpoint_id, t.deliveries, t.granted_at, t.accepted_at,
       now(), t.outcome, t.detail, t.callback_sha256, t.callback_answer::json, t.cost_microusd
from unnest($1::uuid[], $2::integer[], $3::uuid[], $4::integer[], $5::uuid[], $6::uuid[], $7::integer[], $8::timestamptz[],
            $9::timestamptz[], $10::text[], $11::text[], $12::bytea[], $13::text[], $14::bigint[])
    as t(execution_id, number, attempt_id, opening, node, endpoint_id, deliveries, granted_at, accepted_at, outcome, detail,
         callback_sha256, callback_answer, cost_microusd)
