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
drop table usage_charges;
