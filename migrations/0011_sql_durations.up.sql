-- An end written by SQL never lies before its beginning. now() is when a transaction began: one that waited for the row, or
-- was left open at a prompt, may be older than the execution's start, and a negative duration was refused by the table.
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
