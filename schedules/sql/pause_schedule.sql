update schedules set paused_at = now(), paused_by = $3, pause_reason = $4, paused_until = $5
where organization_id = $1 and name = $2
