-- Each for its execution, after try_locks.sql; what is not returned somebody else holds, or has its row in a transaction of
-- his own: that is not waited for.
with wanted as (
    select * from unnest($1::text[], $2::text[], $3::uuid[], $4::uuid[], $5::text[]) as w(organization_id, name, execution_id, attempt_id, owner)),
ours as materialized (
    select l.organization_id, l.name from locks l join wanted using (organization_id, name) for update of l skip locked)
insert into locks as l (organization_id, name, owner, held_by, token, acquired_at, held_until, execution_id, attempt_id)
select w.organization_id, w.name, w.owner, 'hub', nextval('lock_tokens'), clock_timestamp(), clock_timestamp(), w.execution_id, w.attempt_id
from wanted w
where (exists (select from ours o where o.organization_id = w.organization_id and o.name = w.name)
       or not exists (select from locks n where n.organization_id = w.organization_id and n.name = w.name))
  and not exists (select from locks_now n where n.organization_id = w.organization_id and n.name = w.name and n.held
                                            and n.execution_id is distinct from w.execution_id)
on conflict (organization_id, name) do update
set owner = excluded.owner, held_by = excluded.held_by, token = excluded.token, acquired_at = excluded.acquired_at,
    held_until = excluded.held_until, execution_id = excluded.execution_id, attempt_id = excluded.attempt_id
returning l.execution_id
