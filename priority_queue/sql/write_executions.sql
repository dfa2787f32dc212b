-- Every change of an execution's row is this statement: the whole changeable state of rows that the transaction has
-- locked, as the decision core left it.
update executions e set
    status = u.status, priority = u.priority, scheduled_at = u.scheduled_at, updated_at = now(),
    ready = u.ready, ready_at = u.ready_at, due_at = u.due_at, started_at = u.started_at, completed_at = u.completed_at,
    timeout_at = u.timeout_at, retry_count = u.retry_count, max_retries = u.max_retries, attempts = u.attempts,
    attempt_id = u.attempt_id, attempt_state = u.attempt_state, attempt_node = u.attempt_node, granted_to = u.granted_to,
    fence = u.fence, lease_until = u.lease_until, granted_at = u.granted_at, accepted_at = u.accepted_at,
    endpoint_id = u.endpoint_id, deliveries = u.deliveries, opening = u.opening, last_seq = u.last_seq,
    open_children = u.open_children, gate = u.gate::json, gate_since = u.gate_since, reason = u.reason,
    duration_ms = u.duration_ms, cost_microusd = u.cost_microusd, items_processed = u.items_processed,
    progress = u.progress::json, attempt_cost_microusd = u.attempt_cost_microusd
from unnest($1::uuid[], $2::text[], $3::smallint[], $4::timestamptz[], $5::boolean[], $6::timestamptz[], $7::timestamptz[],
            $8::timestamptz[], $9::timestamptz[], $10::timestamptz[], $11::integer[], $12::integer[], $13::integer[],
            $14::uuid[], $15::text[], $16::uuid[], $17::uuid[], $18::integer[], $19::timestamptz[], $20::timestamptz[],
            $21::timestamptz[], $22::uuid[], $23::integer[], $24::integer[], $25::integer[], $26::integer[], $27::text[],
            $28::timestamptz[], $29::text[], $30::bigint[], $31::bigint[], $32::bigint[], $33::text[], $34::bigint[])
    as u(execution_id, status, priority, scheduled_at, ready, ready_at, due_at, started_at, completed_at, timeout_at,
         retry_count, max_retries, attempts, attempt_id, attempt_state, attempt_node, granted_to, fence, lease_until,
         granted_at, accepted_at, endpoint_id, deliveries, opening, last_seq, open_children, gate, gate_since, reason,
         duration_ms, cost_microusd, items_processed, progress, attempt_cost_microusd)
where e.execution_id = u.execution_id
