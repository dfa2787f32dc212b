create or replace function workflow_orchestration_insert() returns trigger language plpgsql as $$
begin
    if new.status is distinct from 'queued' and new.status not in ('completed', 'failed', 'cancelled') then
        raise exception 'a new row must be queued, or be history (completed, failed, cancelled); not %', coalesce(quote_literal(new.status), 'null')
            using errcode = 'check_violation', hint = 'the hub moves it on from queued by itself';
    end if;
    new.scheduled_at := coalesce(new.scheduled_at, now());
    perform enqueue_execution(new.execution_id, new.organization_id, new.workflow_type, new.priority, new.input_data::json,
        new.context::json, new.scheduled_at, new.created_at, new.max_retries, new.parent_execution_id, new.batch_id);
    if new.status <> 'queued' then
        update executions set status = new.status, ready = false, ready_at = null, due_at = null,
            started_at = new.started_at, completed_at = coalesce(new.completed_at, now()),
            retry_count = coalesce(new.retry_count, 0), duration_ms = new.duration_ms,
            cost_microusd = ceil(new.cost_usd * 1000000)::bigint, items_processed = new.items_processed,
            reason = 'imported', last_seq = 2
        where execution_id = new.execution_id;
        insert into execution_results (execution_id, opening, result_data, error_data)
        values (new.execution_id, 1, new.result_data::json, new.error_data::json);
        perform append_execution_event(new.execution_id, 2, new.organization_id, 'execution.' || new.status,
            json_build_object('by', 'sql', 'imported', true));
    end if;
    select retry_count, max_retries into new.retry_count, new.max_retries from executions where execution_id = new.execution_id;
    new.context := coalesce(new.context, '{}');
    new.updated_at := now();
    return new;
end $$;

create or replace function enqueue_execution(
    p_execution_id uuid, p_organization_id text, p_workflow_type text, p_priority integer, p_input json, p_context json,
    p_scheduled_at timestamptz, p_created_at timestamptz, p_max_retries integer, p_parent uuid, p_batch uuid)
returns void language plpgsql as $$
declare
    v_type workflow_types;
    v_ready boolean := coalesce(p_scheduled_at, now()) <= now();
begin
    if not isfinite(p_scheduled_at) then
        raise exception 'scheduled_at must be a time, not %', p_scheduled_at using errcode = 'check_violation';
    end if;
    select * into v_type from workflow_types where organization_id = p_organization_id and name = p_workflow_type;
    if not found then
        raise exception 'unknown workflow type %', quote_literal(p_workflow_type)
            using errcode = 'foreign_key_violation', hint = 'register it first: PUT /v1/workflow-types/{name}';
    end if;
    insert into executions (execution_id, organization_id, workflow_type, status, priority, created_at, scheduled_at,
                            ready, ready_at, due_at, max_retries, parent_execution_id, batch_id, concurrency_key, last_seq, size_class)
    values (p_execution_id, p_organization_id, p_workflow_type, 'queued', coalesce(p_priority, 50),
            coalesce(p_created_at, now()), coalesce(p_scheduled_at, now()),
            v_ready, case when v_ready then now() end, case when not v_ready then p_scheduled_at end,
            coalesce(p_max_retries, v_type.max_retries), p_parent, p_batch,
            case when v_type.concurrency_key is not null then concurrency_key_of(p_input::jsonb, v_type.concurrency_key) end, 1, size_class_of(octet_length(p_input::text)));
    insert into execution_inputs (execution_id, input_data, context) values (p_execution_id, p_input, p_context);
    perform append_execution_event(p_execution_id, 1, p_organization_id, 'execution.queued',
        json_build_object('priority', coalesce(p_priority, 50), 'scheduled_at', coalesce(p_scheduled_at, now()), 'by', 'sql'));
    perform pg_notify('orchestration_event', 'execution');
end $$;

drop function enqueue_execution(uuid, text, text, integer, json, json, timestamptz, timestamptz, integer, uuid, uuid, boolean);
drop function needs_of_input(jsonb, jsonb);
drop function never_given(text, text, numeric);
drop function json_at(jsonb, text);
alter table executions drop column need_amounts;
