-- A name that was deleted goes on where its versions ended.
with put as (
    insert into providers (name, limits, version, updated_by, reason)
    values ($1, $2::jsonb, coalesce((select max(version) from provider_versions where name = $1), 0) + 1, $3, $4)
    on conflict (name) do update set limits = excluded.limits, version = providers.version + 1, updated_at = now(),
        updated_by = excluded.updated_by, reason = excluded.reason
    returning name, version, limits, updated_at, updated_by, reason
)
insert into provider_versions (name, version, limits, at, by, reason)
select name, version, limits, updated_at, updated_by, reason from put
returning version, at
