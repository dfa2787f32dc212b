insert into pauses (organization_id, workflow_type, reason, paused_by, since, until_at, until_condition)
values ($1, $2, $3, $4, now(), $5, $6)
on conflict (organization_id, workflow_type) do update set reason = excluded.reason, paused_by = excluded.paused_by,
    since = excluded.since, until_at = excluded.until_at, until_condition = excluded.until_condition
