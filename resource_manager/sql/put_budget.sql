-- A budget that was retired is not brought back by this: it has a new id, and the versions of its name go on.
with put as (
    insert into budgets (budget_id, name, scope_organization, scope_provider, scope_workflow_type, scope_batch, window_unit,
                         time_zone, reset_hour, first_weekday, window_hours, limit_microusd, hard, steps, updated_by, reason,
                         version)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14::jsonb, $15, $16,
            (select 1 + coalesce(max(v.version), 0) from budgets known join budget_versions v using (budget_id)
             where known.name = $2 and coalesce(known.scope_organization, '') = coalesce($3, '')))
    on conflict (budget_id) do update set name = excluded.name, scope_organization = excluded.scope_organization,
        scope_provider = excluded.scope_provider, scope_workflow_type = excluded.scope_workflow_type,
        scope_batch = excluded.scope_batch, window_unit = excluded.window_unit, time_zone = excluded.time_zone,
        reset_hour = excluded.reset_hour, first_weekday = excluded.first_weekday, window_hours = excluded.window_hours,
        limit_microusd = excluded.limit_microusd, hard = excluded.hard, steps = excluded.steps,
        version = budgets.version + 1, updated_at = now(), updated_by = excluded.updated_by, reason = excluded.reason
    where budgets.retired_at is null
    returning budget_id, version, updated_at, updated_by, reason
)
insert into budget_versions (budget_id, version, definition, at, by, reason)
select budget_id, version, $17::jsonb, updated_at, updated_by, reason from put
returning version
