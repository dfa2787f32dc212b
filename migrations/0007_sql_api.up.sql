-- SQL as an API: the table of 003 as a view, and its seven functions, for psql, n8n or Supabase.
-- Everything here obeys the same rules as the hub: legal moves only, an event with every change, one outcome.

-- The table of legal moves; domain/execution.cc holds the same one.
create function execution_may_move(p_from text, p_to text) returns boolean
language sql immutable parallel safe as $$
    select case
        when p_to = 'cancelled' then p_from not in ('completed', 'failed', 'cancelled', 'dead')
        when p_from = 'queued' then p_to in ('analyzing', 'dispatching')
        when p_from = 'analyzing' then p_to in ('queued')
        when p_from = 'dispatching' then p_to in ('running', 'queued', 'retrying', 'completed', 'failed', 'dead')
        when p_from = 'running' then p_to in ('completed', 'failed', 'retrying', 'dead')
        when p_from = 'retrying' then p_to in ('dispatching', 'completed', 'dead')
        when p_from in ('failed', 'dead') then p_to in ('queued', 'completed')
        else false end
$$;

-- Version 7: sorts by time.
create function uuid_v7() returns uuid language sql volatile parallel safe as $$
    select encode(set_byte(overlay(uuid_send(gen_random_uuid())
               placing substring(int8send(floor(extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
               from 1 for 6), 6, (get_byte(uuid_send(gen_random_uuid()), 6) & 15) | 112), 'hex')::uuid
$$;

-- What an RFC 6901 pointer names, as the text of a concurrency key; null when there is nothing.
create function concurrency_key_of(p_input jsonb, p_pointer text) returns text
language sql immutable parallel safe as $$
    select left(p_input #>> array(select replace(replace(step, '~1', '/'), '~0', '~')
                                  from regexp_split_to_table(substr(p_pointer, 2), '/') with ordinality as t(step, n)
                                  order by n), 200)
$$;

create function append_execution_event(p_execution_id uuid, p_seq integer, p_organization_id text, p_type text, p_payload json)
returns void language sql as $$
    insert into events (kind, stream_id, seq, organization_id, type, payload)
    values ('execution', p_execution_id, p_seq, p_organization_id, p_type, p_payload)
$$;

create function enqueue_execution(
    p_execution_id uuid, p_organization_id text, p_workflow_type text, p_priority integer, p_input json, p_context json,
    p_scheduled_at timestamptz, p_created_at timestamptz, p_max_retries integer, p_parent uuid, p_batch uuid)
returns void language plpgsql as $$
declare
    v_type workflow_types;
    v_ready boolean := coalesce(p_scheduled_at, now()) <= now();
begin
    select * into v_type from workflow_types where organization_id = p_organization_id and name = p_workflow_type;
    if not found then
        raise exception 'unknown workflow type %', quote_literal(p_workflow_type)
            using errcode = 'foreign_key_violation', hint = 'register it first: PUT /v1/workflow-types/{name}';
    end if;
    insert into executions (execution_id, organization_id, workflow_type, status, priority, created_at, scheduled_at,
                            ready, ready_at, due_at, max_retries, parent_execution_id, batch_id, concurrency_key, last_seq)
    values (p_execution_id, p_organization_id, p_workflow_type, 'queued', coalesce(p_priority, 50),
            coalesce(p_created_at, now()), coalesce(p_scheduled_at, now()),
            v_ready, case when v_ready then now() end, case when not v_ready then p_scheduled_at end,
            coalesce(p_max_retries, v_type.max_retries), p_parent, p_batch,
            case when v_type.concurrency_key is not null then concurrency_key_of(p_input::jsonb, v_type.concurrency_key) end, 1);
    insert into execution_inputs (execution_id, input_data, context) values (p_execution_id, p_input, p_context);
    perform append_execution_event(p_execution_id, 1, p_organization_id, 'execution.queued',
        json_build_object('priority', coalesce(p_priority, 50), 'scheduled_at', coalesce(p_scheduled_at, now()), 'by', 'sql'));
    perform pg_notify('orchestration_event', 'execution');
end $$;

-- 003: enqueue_workflow_task
create function enqueue_workflow_task(
    p_workflow_type text, p_priority integer, p_input_data jsonb, p_scheduled_at timestamptz default now()) returns uuid
language plpgsql as $$
declare
    v_id uuid := uuid_v7();
begin
    if p_priority is null or p_priority < 0 or p_priority > 100 then
        raise exception 'p_priority must be from 0 to 100' using errcode = 'check_violation';
    end if;
    perform enqueue_execution(v_id, 'default', p_workflow_type, p_priority, p_input_data::json, null, p_scheduled_at,
                              null, null, null, null);
    return v_id;
end $$;

-- What a plain UPDATE or update_execution_status does to a locked row. Returns false, and records the refusal, where
-- the move is not allowed: by the table, or because it is the hub's (dispatching, running, giving a dispatch back,
-- reopening). `retrying` leaves the wait, or the end of the tries, to the hub's next turn (R21).
create function change_execution_status(p_row executions, p_status text, p_result json, p_error json) returns boolean
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
        insert into attempts (execution_id, number, attempt_id, opening, node, endpoint_id, deliveries, granted_at, accepted_at, outcome, detail)
        values (p_row.execution_id, p_row.attempts, p_row.attempt_id, p_row.opening, p_row.attempt_node, p_row.endpoint_id,
                p_row.deliveries, p_row.granted_at, p_row.accepted_at, 'sql', p_status);
    end if;
    update executions set
        status = p_status,
        ready = p_status = 'queued',
        ready_at = case when p_status = 'queued' then coalesce(ready_at, now()) else ready_at end,
        due_at = case p_status when 'analyzing' then now() + interval '60 seconds' when 'retrying' then now() end,
        completed_at = case when v_terminal then now() end,
        timeout_at = null,
        attempt_id = null, attempt_state = null,
        attempt_node = null, granted_to = null, lease_until = null,
        gate = null, gate_since = null,
        reason = case when p_status in ('queued', 'analyzing') then null else 'sql' end,
        duration_ms = case when v_terminal and started_at is not null
                           then (date_part('epoch', now() - started_at) * 1000)::bigint else duration_ms end,
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

-- 003: update_execution_status. false: unknown execution, or a move that is not allowed (recorded as
-- execution.refused). dispatching and running are the hub's to set.
create function update_execution_status(
    p_execution_id uuid, p_status text, p_result_data jsonb default null, p_error_data jsonb default null) returns boolean
language plpgsql as $$
declare
    v_row executions;
begin
    select * into v_row from executions where execution_id = p_execution_id for update;
    if not found then return false; end if;
    return change_execution_status(v_row, p_status, p_result_data::json, p_error_data::json);
end $$;

-- 003's table, readable and writable as it was.
create view workflow_orchestration as
select e.execution_id, e.workflow_type, e.status, e.priority::integer as priority,
       e.scheduled_at, e.started_at, e.completed_at, e.timeout_at,
       coalesce(i.context::jsonb, '{}') as context,
       i.input_data::jsonb as input_data, r.result_data::jsonb as result_data, r.error_data::jsonb as error_data,
       e.parent_execution_id, e.batch_id,
       e.retry_count, e.max_retries,
       case when e.status = 'retrying' then e.due_at end as next_retry_at,
       e.duration_ms, e.cost_microusd * 0.000001 as cost_usd, e.items_processed,
       e.created_at, e.updated_at,
       e.organization_id, e.reason
from executions e
left join execution_inputs i using (execution_id)
left join execution_results r on r.execution_id = e.execution_id and r.opening = e.opening;

alter view workflow_orchestration alter column execution_id set default uuid_v7();
alter view workflow_orchestration alter column priority set default 50;
alter view workflow_orchestration alter column organization_id set default 'default';
alter view workflow_orchestration alter column created_at set default now();

create function workflow_orchestration_insert() returns trigger language plpgsql as $$
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
create trigger workflow_orchestration_insert instead of insert on workflow_orchestration
    for each row execute function workflow_orchestration_insert();

-- A plain UPDATE may change priority, time, input and context of what waits, and the status as
-- update_execution_status does. What it may not change is refused by name instead of being lost in silence.
create function workflow_orchestration_update() returns trigger language plpgsql as $$
declare
    v_row executions;
    v_ready boolean;
begin
    select * into v_row from executions where execution_id = old.execution_id for update;
    if not found then return null; end if;
    if (new.execution_id, new.workflow_type, new.organization_id, new.created_at)
       is distinct from (old.execution_id, old.workflow_type, old.organization_id, old.created_at) then
        raise exception 'execution_id, workflow_type, organization_id and created_at cannot be changed' using errcode = 'check_violation';
    end if;
    if (new.retry_count, new.started_at, new.completed_at, new.timeout_at, new.duration_ms, new.cost_usd, new.items_processed,
        new.parent_execution_id, new.next_retry_at, new.reason)
       is distinct from (old.retry_count, old.started_at, old.completed_at, old.timeout_at, old.duration_ms, old.cost_usd,
        old.items_processed, old.parent_execution_id, old.next_retry_at, old.reason) and new.status is not distinct from old.status then
        raise exception 'retry_count, times, cost and results are recorded by the hub' using errcode = 'check_violation',
            hint = 'use update_execution_status(), or change priority, scheduled_at, input_data, context or max_retries';
    end if;
    if (new.priority, new.scheduled_at, new.input_data, new.context, new.max_retries, new.batch_id)
       is distinct from (old.priority, old.scheduled_at, old.input_data, old.context, old.max_retries, old.batch_id) then
        if v_row.status not in ('queued', 'analyzing', 'retrying') then
            raise exception 'execution % is %, what it was asked cannot be changed any more', old.execution_id, v_row.status
                using errcode = 'check_violation';
        end if;
        v_ready := v_row.status = 'queued' and new.scheduled_at <= now();
        update executions set priority = new.priority, scheduled_at = new.scheduled_at, max_retries = new.max_retries,
            batch_id = new.batch_id, last_seq = v_row.last_seq + 1, updated_at = now(),
            ready = case when v_row.status = 'queued' then v_ready else ready end,
            ready_at = case when v_row.status <> 'queued' then ready_at when not v_ready then null else coalesce(ready_at, now()) end,
            due_at = case when v_row.status = 'queued' and not v_ready then new.scheduled_at when v_row.status = 'queued' then null else due_at end
        where execution_id = old.execution_id
        returning * into v_row;
        update execution_inputs set input_data = new.input_data::json, context = new.context::json
        where execution_id = old.execution_id
          and (new.input_data, new.context) is distinct from (old.input_data, old.context);
        perform append_execution_event(old.execution_id, v_row.last_seq, v_row.organization_id, 'execution.updated',
            json_build_object('priority', new.priority, 'scheduled_at', new.scheduled_at, 'by', 'sql'));
        perform pg_notify('orchestration_event', 'execution');
    end if;
    if new.status is distinct from old.status then
        if not change_execution_status(v_row, new.status, new.result_data::json, new.error_data::json) then
            raise exception 'execution % cannot move from % to %', old.execution_id, v_row.status, new.status
                using errcode = 'check_violation', hint = 'update_execution_status() answers false instead of raising';
        end if;
    elsif (new.result_data, new.error_data) is distinct from (old.result_data, old.error_data) then
        raise exception 'result_data and error_data are recorded with a terminal status' using errcode = 'check_violation';
    end if;
    return new;
end $$;
create trigger workflow_orchestration_update instead of update on workflow_orchestration
    for each row execute function workflow_orchestration_update();

create function workflow_orchestration_delete() returns trigger language plpgsql as $$
begin
    raise exception 'executions are not deleted by hand' using errcode = 'check_violation',
        hint = 'cancel it: select update_execution_status(execution_id, ''cancelled'')';
end $$;
create trigger workflow_orchestration_delete instead of delete on workflow_orchestration
    for each row execute function workflow_orchestration_delete();

-- Why a lane may not start anything now, as far as the tables know; null: its gate is open. The hub keeps lane_gates;
-- pauses and the concurrency cap are looked at directly, so that the answer is right without a hub as well.
create function lane_gate(p_organization_id text, p_workflow_type text) returns text
language sql stable as $$
    select coalesce(
        (select 'paused: ' || coalesce(nullif(p.reason, ''), 'by hand') || coalesce(' until ' || p.until_at::text, '')
         from pauses p
         where (p.organization_id in ('', p_organization_id)) and (p.workflow_type in ('', p_workflow_type))
           and (p.until_at is null or p.until_at > now())
         order by p.organization_id, p.workflow_type limit 1),
        (select 'disabled: the workflow type is switched off'
         from workflow_types t where t.organization_id = p_organization_id and t.name = p_workflow_type and not t.enabled),
        (select format('concurrency: %s of %s running', c.n, t.max_concurrency)
         from workflow_types t cross join lateral (
             select count(*) as n from executions e
             where e.timeout_at is not null and e.organization_id = t.organization_id and e.workflow_type = t.name) c
         where t.organization_id = p_organization_id and t.name = p_workflow_type and c.n >= t.max_concurrency),
        (select g.gate || ': ' || g.detail from lane_gates g
         where g.organization_id = p_organization_id and g.workflow_type = p_workflow_type and g.ended_at is null
           and g.gate not in ('paused', 'concurrency')))
$$;

-- The best of each lane of the organization default in the hub's order: first what starves, oldest first, then the score.
create function lane_heads() returns table (
    execution_id uuid, workflow_type text, priority integer, score bigint, starving boolean, ready_at timestamptz,
    created_at timestamptz, gate text, place bigint)
language sql stable as $$
    select h.execution_id, t.name, h.priority, h.score, h.starving, h.ready_at, h.created_at, g.gate,
           row_number() over (order by g.gate is null desc, h.starving desc,
                              case when h.starving then h.ready_at end, case when not h.starving then h.score end desc,
                              h.created_at, h.execution_id)
    from workflow_types t
    cross join lateral ready_executions('default', t.name, 1, now()) h
    cross join lateral (select lane_gate('default', t.name)) g(gate)
    where t.organization_id = 'default'
$$;

-- 003: orchestrate_next_execution. One row for each lane that has ready work, the one the hub would start next first.
-- It decides and explains; it claims nothing.
create function orchestrate_next_execution() returns table (
    execution_id uuid, workflow_type text, priority integer, input_data jsonb, should_execute boolean, reason text)
language sql stable as $$
    select h.execution_id, h.workflow_type, h.priority, i.input_data::jsonb, h.gate is null,
           coalesce(h.gate, format('next by %s: score %s', case when h.starving then 'waiting time' else 'score' end,
                                   floor(h.score / 60000000.0)))
    from lane_heads() h left join execution_inputs i using (execution_id)
    order by h.place
$$;

-- 003: get_next_priority_task. What the hub would start next; score and age are floored.
create function get_next_priority_task() returns table (
    execution_id uuid, workflow_type text, priority_score integer, age_minutes integer, input_data jsonb)
language sql stable as $$
    select h.execution_id, h.workflow_type, floor(h.score / 60000000.0)::integer,
           floor(date_part('epoch', now() - h.created_at) / 60)::integer, i.input_data::jsonb
    from lane_heads() h left join execution_inputs i using (execution_id)
    where h.gate is null
    order by h.place limit 1
$$;

-- 003: prevent_starvation. Marks what has waited beyond its lane's max_wait (the order already puts it first, oldest
-- first) and returns how many were newly marked.
create function prevent_starvation() returns integer language plpgsql as $$
declare
    v_row record;
    v_marked integer := 0;
begin
    for v_row in
        select e.execution_id, e.organization_id, e.last_seq, e.ready_at, t.max_wait_seconds
        from workflow_types t join executions e on e.organization_id = t.organization_id and e.workflow_type = t.name
        where e.ready and e.ready_at < now() - make_interval(secs => t.max_wait_seconds)
          and e.reason is distinct from 'starving'
        order by e.execution_id for update of e skip locked
    loop
        update executions set reason = 'starving', last_seq = v_row.last_seq + 1, updated_at = now()
        where execution_id = v_row.execution_id;
        perform append_execution_event(v_row.execution_id, v_row.last_seq + 1, v_row.organization_id, 'execution.starving',
            json_build_object('waiting_since', v_row.ready_at, 'max_wait_seconds', v_row.max_wait_seconds));
        v_marked := v_marked + 1;
    end loop;
    if v_marked > 0 then perform pg_notify('orchestration_event', 'execution'); end if;
    return v_marked;
end $$;

-- 003: check_resource_availability. The limits there are: concurrency of each lane that has one, the hub's database
-- connections, endpoints that are held.
create function check_resource_availability() returns table (
    resource_type text, available boolean, current_usage integer, limit_value integer, reset_time timestamptz)
language sql stable as $$
    select 'concurrency:' || t.name, c.n < t.max_concurrency, c.n::integer, t.max_concurrency, null::timestamptz
    from workflow_types t cross join lateral (
        select count(*) as n from executions e
        where e.timeout_at is not null and e.organization_id = t.organization_id and e.workflow_type = t.name) c
    where t.organization_id = 'default' and t.max_concurrency is not null
    union all
    select 'database_connections', count(*) < 20, count(*)::integer, 20, null
    from pg_stat_activity where application_name like 'impresario%' and datname = current_database()
    union all
    select 'endpoint:' || e.workflow_type, bool_or(e.held_until is null or e.held_until <= now()),
           count(*) filter (where e.held_until > now())::integer, count(*)::integer, min(e.held_until) filter (where e.held_until > now())
    from endpoints e where e.organization_id = 'default' group by e.workflow_type
$$;

-- 003: record_resource_usage, and an overload with a usage id that records the same usage once.
create function record_resource_usage(
    p_execution_id uuid, p_resource_type text, p_provider text, p_usage_amount integer, p_cost_usd decimal, p_usage_id text)
returns void language plpgsql as $$
begin
    insert into workflow_resource_usage (execution_id, resource_type, provider, usage_amount, cost_usd, usage_id)
    values (p_execution_id, p_resource_type, p_provider, p_usage_amount, ceil(p_cost_usd * 1000000) / 1000000, p_usage_id)
    on conflict (execution_id, usage_id) do nothing;
end $$;

create function record_resource_usage(
    p_execution_id uuid, p_resource_type text, p_provider text, p_usage_amount integer, p_cost_usd decimal)
returns void language sql as $$
    select record_resource_usage(p_execution_id, p_resource_type, p_provider, p_usage_amount, p_cost_usd, null::text)
$$;
