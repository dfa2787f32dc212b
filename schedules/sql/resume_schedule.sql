-- What was due meanwhile is left out.
with resumed as (
    update schedules set paused_at = null, paused_by = null, pause_reason = null, paused_until = null
    where organization_id = $1 and name = $2 returning schedule_id
)
update schedule_states t set next_due_at = $3, moves = moves + 1 from resumed r where t.schedule_id = r.schedule_id
