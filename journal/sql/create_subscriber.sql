-- It begins behind what has been written by now: what has taken a number and is not committed yet happened before.
with made as (
    insert into subscribers (organization_id, name, definition, secrets_sealed, updated_by)
    values ($1, $2, $3::json, $4, $5)
    on conflict (organization_id, name) where deleted_at is null do nothing
    returning subscriber_id
), state as (
    insert into subscriber_states (subscriber_id, position)
    select subscriber_id, coalesce((select max(event_id) from events), 0) from made
)
select subscriber_id from made
