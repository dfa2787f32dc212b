-- After a policy was cleared its versions go on where they ended.
with put as (
    insert into fairness (policy, version, updated_by, reason)
    values ($1::jsonb, coalesce((select max(version) from fairness_versions), 0) + 1, $2, $3)
    on conflict (one) do update set policy = excluded.policy, version = fairness.version + 1, updated_at = now(),
        updated_by = excluded.updated_by, reason = excluded.reason
    returning version, policy, updated_at, updated_by, reason
)
insert into fairness_versions (version, policy, at, by, reason)
select version, policy, updated_at, updated_by, reason from put
returning version, at
