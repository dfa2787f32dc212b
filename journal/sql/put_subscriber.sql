-- A new one begins behind what has been written by now. What has taken a number and is not committed yet happened before.
with put as (
    insert into subscribers (organization_id, name, definition, secrets_sealed, updated_by)
    values ($1, $2, $3::json, $4, $5)
    on conflict (organization_id, name) do update
        set definition = excluded.definition, secrets_sealed = excluded.secrets_sealed,
            version = subscribers.version + 1, updated_at = now(), updated_by = $5
    returning subscriber_id, version
), state as (
    insert into subscriber_states (subscriber_id, position)
    select subscriber_id, coalesce((select max(event_id) from events), 0) from put
    on conflict do nothing
)
select version = 1 from put
