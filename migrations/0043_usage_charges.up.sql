-- What attempts say they took of a provider counts against its limits, as far as it is more than what their grant took. It
-- is written by whoever hears it and counted once, by the leading node, which fills over_*.
create table usage_charges (
    charge_id       bigint primary key generated always as identity,
    execution_id    uuid not null,
    -- Of a usage that SQL records for what never had one: its execution.
    attempt_id      uuid not null,
    provider        text not null,
    organization_id text not null,
    workflow_type   text not null,
    limit_keys      text,
    -- A callback's is what is beyond the grant and was not charged before; SQL's is all of it.
    beyond          boolean not null,
    calls           bigint not null default 0 check (calls >= 0),
    tokens          bigint not null default 0 check (tokens >= 0),
    cost_microusd   bigint not null default 0 check (cost_microusd >= 0),
    at              timestamptz not null default now(),
    -- What of it is charged; null: it has not been counted yet.
    over_calls         bigint,
    over_tokens        bigint,
    over_cost_microusd bigint
);
create index usage_charges_of on usage_charges (attempt_id, provider);
create index usage_charges_at on usage_charges (at);
create index usage_charges_uncounted on usage_charges (charge_id) where over_calls is null;

create or replace function record_resource_usage(
    p_execution_id uuid, p_resource_type text, p_provider text, p_usage_amount integer, p_cost_usd decimal, p_usage_id text)
returns void language plpgsql as $$
declare
    v_row executions;
    v_cost bigint;
begin
    if coalesce(p_resource_type, '') = '' then
        raise exception 'p_resource_type is missing'
            using errcode = 'null_value_not_allowed', hint = 'say what was used: api_call, tokens, database_query, memory_usage';
    end if;
    if p_usage_amount is null then
        raise exception 'p_usage_amount is missing'
            using errcode = 'null_value_not_allowed', hint = 'say how much was used; 0 where only the cost is known';
    end if;
    if p_usage_amount < 0 then
        raise exception 'p_usage_amount must not be negative: %', p_usage_amount using errcode = 'check_violation';
    end if;
    -- NaN is more than any number.
    if p_cost_usd < 0 or p_cost_usd > 999999999999 then
        raise exception 'p_cost_usd must be from 0 to 999999999999: %', p_cost_usd using errcode = 'check_violation';
    end if;
    select * into v_row from executions where execution_id = p_execution_id;
    if not found then
        raise exception 'unknown execution %', coalesce(p_execution_id::text, 'null')
            using errcode = 'foreign_key_violation', hint = 'usage belongs to an execution: use its execution_id';
    end if;
    v_cost := coalesce(ceil(p_cost_usd * 1000000)::bigint, 0);
    insert into workflow_resource_usage (execution_id, resource_type, provider, usage_amount, cost_usd, usage_id)
    values (p_execution_id, p_resource_type, p_provider, p_usage_amount, ceil(p_cost_usd * 1000000) / 1000000, p_usage_id)
    on conflict (execution_id, usage_id) do nothing;
    if not found then return; end if;
    if v_cost > 0 then
        insert into ledger_inbox (execution_id, attempt_id, settle, provider, cost_microusd, pinned_at)
        values (p_execution_id, gen_random_uuid(), false, p_provider, v_cost, now());
    end if;
    insert into usage_charges (execution_id, attempt_id, provider, organization_id, workflow_type, limit_keys, beyond, calls, tokens,
                               cost_microusd)
    select p_execution_id,
           coalesce(v_row.attempt_id, (select a.attempt_id from attempts a where a.execution_id = p_execution_id
                                       order by a.closed_at desc limit 1), p_execution_id),
           p.name, v_row.organization_id, v_row.workflow_type, v_row.limit_keys, false,
           case when p_resource_type = 'api_call' then p_usage_amount else 0 end,
           case when p_resource_type = 'tokens' then p_usage_amount else 0 end, v_cost
    from providers p
    where p.name = p_provider and (v_cost > 0 or p_resource_type in ('api_call', 'tokens') and p_usage_amount > 0);
    if v_cost > 0 or found then
        perform pg_notify('orchestration_event', 'execution');
    end if;
end $$;
