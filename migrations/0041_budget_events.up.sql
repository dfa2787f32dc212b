-- A budget that plain SQL makes, changes, retires or deletes is told in its stream as well. Hubs tell it themselves, with who
-- asked for it and why, and say so for their transaction.
create function budget_definition(p_budget budgets) returns jsonb language sql immutable as $$
    select to_jsonb(p_budget) - array['version', 'updated_at', 'updated_by', 'reason', 'retired_at', 'steps_on', 'steps_window_start',
                                      'steps_window_end', 'approved_until', 'approved_by', 'last_seq']
$$;

create function tell_budget(p_budget budgets, p_type text) returns void language sql as $$
    insert into events (kind, stream_id, seq, organization_id, type, payload)
    values ('budget', p_budget.budget_id, p_budget.last_seq, coalesce(p_budget.scope_organization, 'default'), p_type,
            json_build_object('by', 'sql', 'budget', p_budget.name, 'version', p_budget.version))
$$;

create function budget_added() returns trigger language plpgsql as $$
declare
    v_row budgets;
begin
    update budgets set last_seq = last_seq + 1 where budget_id = new.budget_id returning * into v_row;
    perform tell_budget(v_row, 'budget.changed');
    return null;
end $$;
create trigger budget_added after insert on budgets for each row when (hub_writer() is null) execute function budget_added();

create function budget_moved() returns trigger language plpgsql as $$
declare
    v_type text := case when new.retired_at is not null and old.retired_at is null then 'budget.retired'
                        when budget_definition(new) <> budget_definition(old) then 'budget.changed' end;
begin
    if v_type is null then return new; end if;
    new.last_seq := old.last_seq + 1;
    perform tell_budget(new, v_type);
    return new;
end $$;
create trigger budget_moved before update on budgets for each row when (hub_writer() is null and new.last_seq = old.last_seq)
    execute function budget_moved();

create function budget_deleted() returns trigger language plpgsql as $$
begin
    old.last_seq := old.last_seq + 1;
    perform tell_budget(old, 'budget.retired');
    return null;
end $$;
create trigger budget_deleted after delete on budgets for each row when (hub_writer() is null and old.retired_at is null)
    execute function budget_deleted();
