-- Money in the turn: what budgets hold for an attempt and what it was asked to save stand in its row, a budget has a
-- stream of events, and what SQL says was spent waits for the scheduler to book it (protocol R21).

create function size_class_of(p_bytes integer) returns integer language sql immutable parallel safe as $$
    -- resource_manager/estimate.h: inputs of about the same size.
    select case when coalesce(p_bytes, 0) <= 0 then 0 else (length(ltrim(p_bytes::bit(32)::text, '0')) + 1) / 2 end
$$;

alter table executions
    add column size_class smallint not null default 0,
    add column attempt_reserved_microusd bigint check (attempt_reserved_microusd >= 0),
    add column attempt_batch_percent smallint,
    add column attempt_cheaper boolean not null default false;

-- How a type is asked while money is short: subworkflows/workflow_type.h.
alter table workflow_types add column cheaper_variant json;
alter table budgets add column last_seq integer not null default 0;

-- What an execution was estimated by: resource_manager/estimate.h has the meaning of `learnt`.
create table cost_estimates (
    organization_id text not null,
    workflow_type   text not null,
    learnt          text not null,
    updated_at      timestamptz not null default now(),
    primary key (organization_id, workflow_type)
);

-- A line stays until its movement is in the ledger: both in one transaction.
create table ledger_inbox (
    entry_id      bigint generated always as identity primary key,
    execution_id  uuid not null,
    -- Of a usage: made for it, so that it is booked once.
    attempt_id    uuid not null,
    -- The attempt was closed by SQL and is to be settled; else a usage that was recorded beside it.
    settle        boolean not null,
    provider      text,
    -- null: nobody said; what is held is taken for it.
    cost_microusd bigint check (cost_microusd >= 0),
    pinned_at     timestamptz not null,
    at            timestamptz not null default now()
);

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

create or replace function change_execution_status(p_row executions, p_status text, p_result json, p_error json) returns boolean
language plpgsql as $$
declare
    v_seq integer := p_row.last_seq + 1;
    v_terminal boolean := p_status in ('completed', 'failed', 'cancelled', 'dead');
    v_message text := left(coalesce(p_error ->> 'message', p_error #>> '{}'), 2000);
    v_event text;
begin
    if p_status in ('dispatching', 'running') or not execution_may_move(p_row.status, p_status)
       or p_row.status in ('failed', 'dead') or (p_status = 'queued' and p_row.status <> 'analyzing') then
        update executions set last_seq = v_seq where execution_id = p_row.execution_id;
        perform append_execution_event(p_row.execution_id, v_seq, p_row.organization_id, 'execution.refused',
            json_build_object('from', p_row.status, 'to', p_status, 'by', 'sql'));
        return false;
    end if;

    if p_row.attempt_id is not null then
        insert into attempts (execution_id, number, attempt_id, opening, node, endpoint_id, deliveries, granted_at, accepted_at, outcome, detail, cost_microusd)
        values (p_row.execution_id, p_row.attempts, p_row.attempt_id, p_row.opening, p_row.attempt_node, p_row.endpoint_id,
                p_row.deliveries, p_row.granted_at, p_row.accepted_at, 'sql', p_status,
                p_row.attempt_cost_microusd);
        if p_row.attempt_cost_microusd is not null then
            insert into workflow_resource_usage (execution_id, resource_type, usage_amount, cost_usd, usage_id)
            values (p_row.execution_id, 'api_call', 0, p_row.attempt_cost_microusd * 0.000001, p_row.attempt_id || '/so-far')
            on conflict (execution_id, usage_id) do nothing;
        end if;
        if p_row.attempt_reserved_microusd is not null then
            -- What is known is what a heartbeat said. Else what is held is taken for what it cost: it may have run.
            insert into ledger_inbox (execution_id, attempt_id, settle, cost_microusd, pinned_at)
            values (p_row.execution_id, p_row.attempt_id, true, p_row.attempt_cost_microusd, p_row.granted_at);
        end if;
    end if;
    update executions set
        status = p_status,
        ready = p_status = 'queued',
        ready_at = case when p_status = 'queued' then coalesce(ready_at, now()) else ready_at end,
        due_at = case p_status when 'analyzing' then now() + interval '60 seconds' when 'retrying' then now() end,
        completed_at = case when v_terminal then greatest(now(), started_at) end,
        timeout_at = null,
        -- What the attempt had cost so far has been spent.
        cost_microusd = case when attempt_cost_microusd is null then cost_microusd
                             else coalesce(cost_microusd, 0) + attempt_cost_microusd end,
        attempt_cost_microusd = null,
        attempt_reserved_microusd = null, attempt_batch_percent = null, attempt_cheaper = false,
        attempt_id = null, attempt_state = null,
        attempt_node = null, granted_to = null, lease_until = null,
        gate = null, gate_since = null,
        reason = case when p_status in ('queued', 'analyzing') then null else 'sql' end,
        duration_ms = case when v_terminal and started_at is not null
                           then greatest((date_part('epoch', now() - started_at) * 1000)::bigint, 0) else duration_ms end,
        last_seq = v_seq, updated_at = now()
    where execution_id = p_row.execution_id;
    if p_result is not null or p_error is not null then
        insert into execution_results (execution_id, opening, result_data, error_data)
        values (p_row.execution_id, p_row.opening, p_result, p_error)
        on conflict (execution_id, opening) do update set result_data = excluded.result_data, error_data = excluded.error_data;
    end if;
    if p_status = 'dead' then
        insert into dead_letters (execution_id, opening, organization_id, workflow_type, reason, error, fingerprint, attempts)
        values (p_row.execution_id, p_row.opening, p_row.organization_id, p_row.workflow_type, 'sql', v_message,
                left(encode(sha256(convert_to(p_row.workflow_type || '|sql|' || regexp_replace(coalesce(v_message, ''), '[0-9a-fA-F-]{8,}|[0-9]+', '#', 'g'), 'UTF8')), 'hex'), 16),
                p_row.attempts);
    end if;
    v_event := case p_status when 'analyzing' then 'execution.deferred' else 'execution.' || p_status end;
    perform append_execution_event(p_row.execution_id, v_seq, p_row.organization_id, v_event,
        json_build_object('from', p_row.status, 'by', 'sql', 'error', v_message));
    perform pg_notify('orchestration_event', 'execution');
    return true;
end $$;

create or replace function record_resource_usage(
    p_execution_id uuid, p_resource_type text, p_provider text, p_usage_amount integer, p_cost_usd decimal, p_usage_id text)
returns void language plpgsql as $$
begin
    if not exists (select from executions where execution_id = p_execution_id) then
        raise exception 'unknown execution %', coalesce(p_execution_id::text, 'null')
            using errcode = 'foreign_key_violation', hint = 'usage belongs to an execution: use its execution_id';
    end if;
    insert into workflow_resource_usage (execution_id, resource_type, provider, usage_amount, cost_usd, usage_id)
    values (p_execution_id, p_resource_type, p_provider, p_usage_amount, ceil(p_cost_usd * 1000000) / 1000000, p_usage_id)
    on conflict (execution_id, usage_id) do nothing;
    if found and p_cost_usd > 0 then
        insert into ledger_inbox (execution_id, attempt_id, settle, provider, cost_microusd, pinned_at)
        values (p_execution_id, gen_random_uuid(), false, p_provider, ceil(p_cost_usd * 1000000)::bigint, now());
        perform pg_notify('orchestration_event', 'execution');
    end if;
end $$;
