-- Usage is written by whoever holds its execution's row, in the same transaction, and executions are never deleted:
-- a foreign key says nothing more, and is asked for each line. Plain SQL is asked by the function.
alter table workflow_resource_usage drop constraint workflow_resource_usage_execution_id_fkey;

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
end $$;
