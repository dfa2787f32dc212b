-- What an execution's input says of its needs is taken once, when it is enqueued (domain/need_amounts.h): a line for each
-- amount, such as "12 calls gemini"; null: its type says all of it. A hub that does not know the column goes by the numbers
-- of the type.
alter table executions add column need_amounts text;

-- What an RFC 6901 pointer names; null when there is nothing.
create function json_at(p_value jsonb, p_pointer text) returns jsonb language plpgsql immutable parallel safe as $$
declare
    v_step text;
begin
    if p_pointer = '' then return p_value; end if;
    foreach v_step in array regexp_split_to_array(substr(p_pointer, 2), '/') loop
        v_step := replace(replace(v_step, '~1', '/'), '~0', '~');
        p_value := case jsonb_typeof(p_value)
            when 'object' then p_value -> v_step
            when 'array' then case when v_step ~ '^[0-9]{1,9}$' then p_value -> v_step::integer end end;
    end loop;
    return p_value;
end $$;

-- Why an amount can never be granted, naming the limit that it is larger than; null: it can.
create function never_given(p_provider text, p_part text, p_amount numeric) returns text language sql stable as $$
    select format('asks %s %s of %s, more than its limit %s ever gives (%s)', p_amount, p_part, p_provider, l ->> 'name', c.capacity)
    from providers p cross join lateral jsonb_array_elements(p.limits) l
    cross join lateral (select (case when l ->> 'kind' = 'token_bucket' then coalesce(l ->> 'burst', l ->> 'limit')
                                     else l ->> 'limit' end)::numeric) c(capacity)
    where p.name = p_provider and p_amount > c.capacity
      and l ->> 'of' = case p_part when 'calls' then 'requests' when 'cost_usd' then 'cost' else p_part end
    limit 1
$$;

-- The hub takes them in the same way (subworkflows/input_needs.cc).
create function needs_of_input(p_input jsonb, p_call_estimates jsonb) returns text language plpgsql stable as $$
declare
    v_need jsonb;
    v_part text;
    v_said jsonb;
    v_value jsonb;
    v_amount numeric;
    v_never text;
    v_lines text[] := '{}';
begin
    for v_need, v_part, v_said in
        select n.value, s.key, s.value
        from jsonb_array_elements(p_call_estimates) with ordinality n(value, place)
        cross join lateral jsonb_each(n.value -> 'from_input') s
        order by n.place, array_position(array['calls', 'tokens', 'items', 'cost_usd'], s.key)
    loop
        v_value := json_at(p_input, regexp_replace(v_said ->> 'from', '^/input_data(?=/|$)', ''));
        v_amount := case jsonb_typeof(v_value)
            when 'array' then jsonb_array_length(v_value)
            when 'number' then (v_value #>> '{}')::numeric end;
        if v_amount < 0 then
            raise exception '% of the input must not be negative: the type takes % of % from it',
                v_said ->> 'from', v_part, v_need ->> 'provider' using errcode = 'check_violation';
        end if;
        if v_amount is not null then
            -- In millionths, rounded up, as money is. Only multiplied: a division would round.
            v_amount := ceil(v_amount * 1000000);
            if v_amount > 999999999999999999 then v_amount := 'infinity'; end if;
            v_amount := case when v_part = 'cost_usd' then ceil(v_amount * (v_said ->> 'times')::numeric)
                             else ceil(v_amount * (v_said ->> 'times')::numeric * 0.000001) end;
        elsif v_said ? 'otherwise' then
            v_amount := (v_said ->> 'otherwise')::numeric * case when v_part = 'cost_usd' then 1000000 else 1 end;
        else
            raise exception '% of the input %: the type takes % of % from it', v_said ->> 'from',
                case when v_value is null then 'is missing' else 'is neither a number nor an array' end,
                v_part, v_need ->> 'provider'
                using errcode = 'check_violation', hint = 'give a number, or an array whose elements are counted';
        end if;
        if v_amount > (case when v_part = 'cost_usd' then 1000000::numeric else 1 end) * 1000000000 then
            raise exception '% of the input asks more than 1000000000 % of %, the most that an input may',
                v_said ->> 'from', v_part, v_need ->> 'provider' using errcode = 'check_violation';
        end if;
        v_never := never_given(v_need ->> 'provider', v_part,
                               case when v_part = 'cost_usd' then v_amount * 0.000001 else v_amount end);
        if v_never is not null then
            raise exception '% of the input %', v_said ->> 'from', v_never
                using errcode = 'check_violation', hint = 'ask for less at a time, or raise the limit';
        end if;
        v_lines := v_lines || format('%s %s %s', v_amount::bigint, v_part, v_need ->> 'provider');
    end loop;
    return nullif(array_to_string(v_lines, E'\n'), '');
end $$;

-- `p_history`: it has ended elsewhere and asks nothing any more.
create function enqueue_execution(
    p_execution_id uuid, p_organization_id text, p_workflow_type text, p_priority integer, p_input json, p_context json,
    p_scheduled_at timestamptz, p_created_at timestamptz, p_max_retries integer, p_parent uuid, p_batch uuid, p_history boolean)
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
                            ready, ready_at, due_at, max_retries, parent_execution_id, batch_id, concurrency_key, last_seq, size_class,
                            need_amounts)
    values (p_execution_id, p_organization_id, p_workflow_type, 'queued', coalesce(p_priority, 50),
            coalesce(p_created_at, now()), coalesce(p_scheduled_at, now()),
            v_ready, case when v_ready then now() end, case when not v_ready then p_scheduled_at end,
            coalesce(p_max_retries, v_type.max_retries), p_parent, p_batch,
            case when v_type.concurrency_key is not null then concurrency_key_of(p_input::jsonb, v_type.concurrency_key) end, 1, size_class_of(octet_length(p_input::text)),
            case when not p_history then needs_of_input(p_input::jsonb, v_type.call_estimates) end);
    insert into execution_inputs (execution_id, input_data, context) values (p_execution_id, p_input, p_context);
    perform append_execution_event(p_execution_id, 1, p_organization_id, 'execution.queued',
        json_build_object('priority', coalesce(p_priority, 50), 'scheduled_at', coalesce(p_scheduled_at, now()), 'by', 'sql'));
    perform pg_notify('orchestration_event', 'execution');
end $$;

create or replace function enqueue_execution(
    p_execution_id uuid, p_organization_id text, p_workflow_type text, p_priority integer, p_input json, p_context json,
    p_scheduled_at timestamptz, p_created_at timestamptz, p_max_retries integer, p_parent uuid, p_batch uuid)
returns void language sql as $$
    select enqueue_execution(p_execution_id, p_organization_id, p_workflow_type, p_priority, p_input, p_context, p_scheduled_at,
                             p_created_at, p_max_retries, p_parent, p_batch, false)
$$;

create or replace function workflow_orchestration_insert() returns trigger language plpgsql as $$
begin
    if new.status is distinct from 'queued' and new.status not in ('completed', 'failed', 'cancelled') then
        raise exception 'a new row must be queued, or be history (completed, failed, cancelled); not %', coalesce(quote_literal(new.status), 'null')
            using errcode = 'check_violation', hint = 'the hub moves it on from queued by itself';
    end if;
    new.scheduled_at := coalesce(new.scheduled_at, now());
    perform enqueue_execution(new.execution_id, new.organization_id, new.workflow_type, new.priority, new.input_data::json,
        new.context::json, new.scheduled_at, new.created_at, new.max_retries, new.parent_execution_id, new.batch_id,
        coalesce(new.status <> 'queued', false));
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
