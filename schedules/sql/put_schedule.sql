-- A new definition is due by its own rule from now on; what has been started so far stays counted.
with put as (
    insert into schedules (organization_id, name, definition, updated_by) values ($1, $2, $3::json, $4)
    on conflict (organization_id, name) do update
        set definition = excluded.definition, version = schedules.version + 1, updated_at = now(), updated_by = $4
    returning schedule_id
)
insert into schedule_states (schedule_id, next_due_at) select schedule_id, $5 from put
on conflict (schedule_id) do update set next_due_at = excluded.next_due_at, moves = schedule_states.moves + 1
