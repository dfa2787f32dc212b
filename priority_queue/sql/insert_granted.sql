-- One new execution with its attempt: what is granted as it comes.
with inputs as (
    insert into execution_inputs (execution_id, input_data, context, trace_context) values ($1, $2, $3, $35)
)
insert into executions (execution_id, organization_id, workflow_type, status, priority, created_at, scheduled_at, updated_at,
                        ready_at, started_at, timeout_at, max_retries, attempts, attempt_id, attempt_state, attempt_node,
                        fence, lease_until, granted_at, endpoint_id, deliveries, parent_execution_id, parent_attempt_id,
                        child_ordinal, batch_id, concurrency_key, last_seq, size_class,
                        attempt_reserved_microusd, attempt_batch_percent, attempt_cheaper, need_amounts, limit_keys)
values ($1, $4, $5, $6, $7, $8, $9, $8, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26,
        $27, $28, $29, $30, $31, $32, $33, $34)
