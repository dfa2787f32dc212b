create or replace function never_given(p_provider text, p_part text, p_amount numeric) returns text language sql stable as $$
    select format('asks %s %s of %s, more than its limit %s ever gives (%s)', p_amount, p_part, p_provider, l ->> 'name', c.capacity)
    from providers p cross join lateral jsonb_array_elements(p.limits) l
    cross join lateral (select (case when l ->> 'kind' = 'token_bucket' then coalesce(l ->> 'burst', l ->> 'limit')
                                     else l ->> 'limit' end)::numeric) c(capacity)
    where p.name = p_provider and p_amount > c.capacity
      and l ->> 'of' = case p_part when 'calls' then 'requests' when 'cost_usd' then 'cost' else p_part end
    limit 1
$$;

-- `p_history`: it has ended elsewhere and asks nothing any more.
create or replace function enqueue_execution(
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

drop function limit_keys_of(json, jsonb);
drop function plain_text_at(json, text);
drop view provider_permits;
alter table permits drop column limit_keys;
create view provider_permits as
select p.attempt_id, p.fence, n.provider, p.execution_id, p.organization_id, p.workflow_type, p.delivery,
       n.calls, n.tokens, n.items, n.cost_microusd, p.granted_at, p.lease_until
from permits p
cross join lateral unnest(p.providers, p.calls, p.tokens, p.items, p.cost_microusd) as n(provider, calls, tokens, items, cost_microusd);
alter table executions drop column limit_keys;
