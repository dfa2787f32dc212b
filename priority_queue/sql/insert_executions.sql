-- Many new executions and their payloads in one statement.
with given as (
    select * from unnest($1::uuid[], $2::text[], $3::text[], $4::smallint[], $5::timestamptz[], $6::timestamptz[],
                         $7::boolean[], $8::timestamptz[], $9::timestamptz[], $10::integer[], $11::uuid[], $12::uuid[],
                         $13::integer[], $14::uuid[], $15::text[], $16::integer[], $17::text[], $18::text[], $19::smallint[],
                         $20::text[], $21::text[], $22::text[])
        as t(execution_id, organization_id, workflow_type, priority, created_at, scheduled_at, ready, ready_at, due_at,
             max_retries, parent_execution_id, parent_attempt_id, child_ordinal, batch_id, concurrency_key, last_seq,
             input_data, context, size_class, need_amounts, limit_keys, trace_context)
), inputs as (
    insert into execution_inputs (execution_id, input_data, context, trace_context)
    select execution_id, input_data::json, context::json, trace_context from given
)
insert into executions (execution_id, organization_id, workflow_type, status, priority, created_at, scheduled_at, updated_at,
                        ready, ready_at, due_at, max_retries, parent_execution_id, parent_attempt_id, child_ordinal,
                        batch_id, concurrency_key, last_seq, size_class, need_amounts, limit_keys)
select execution_id, organization_id, workflow_type, 'queued', priority, created_at, scheduled_at, created_at,
       ready, ready_at, due_at, max_retries, parent_execution_id, parent_attempt_id, child_ordinal, batch_id,
       concurrency_key, last_seq, size_class, need_amounts, limit_keys
from given
