-- A type may name a lock: each of its executions holds it while an attempt of it is under way, so that it runs beside nothing
-- else that takes the same lock, be it another type or work that is not yet under the hub.
alter table workflow_types add column lock_name text check (char_length(lock_name) between 1 and 200);
create trigger catalogue_changed_lock after update of lock_name on workflow_types
    for each statement execute function bump_catalogue_version();

-- Of an execution's attempt: held until that is over, whoever ends it and however. Nothing has to be released.
alter table locks
    add column execution_id uuid,
    add column attempt_id   uuid,
    add constraint locks_of_attempts check ((execution_id is null) = (attempt_id is null));

-- As they are now. `free_at`: when it is free at the latest, unless it is renewed; of an execution its deadline.
create view locks_now as
    select l.*, coalesce(e.timeout_at, l.held_until) as free_at,
           e.execution_id is not null or l.held_until > clock_timestamp() as held
    from locks l left join executions e on e.execution_id = l.execution_id and e.attempt_id = l.attempt_id and e.timeout_at is not null;

-- Whoever takes or gives back a lock has it for the rest of its transaction, also where there is no row yet. The scheduler
-- tries and never waits (orchestrator/sql/take_locks.sql): a transaction that is left open stops nothing but its own lock.
create function lock_in_turn(p_organization_id text, p_name text) returns void language sql as $$
    select pg_advisory_xact_lock(hashtextextended(p_organization_id || E'\n' || p_name, 0))
$$;

-- The scheduler is waiting for it.
create function tell_lock_is_free(p_organization_id text, p_name text) returns void language sql as $$
    select pg_notify('orchestration_event', 'locks')
    where exists (select from workflow_types where organization_id = p_organization_id and lock_name = p_name)
$$;

create or replace function acquire_lock(p_name text, p_owner text, p_ttl interval default '60 seconds',
                                        p_organization_id text default 'default', p_held_by text default '')
returns bigint language plpgsql as $$
declare
    v_lock locks_now;
    v_now  timestamptz;
    v_token bigint;
begin
    perform check_lock_ttl(p_ttl);
    if coalesce(p_owner, '') = '' then
        raise exception 'p_owner is missing' using errcode = 'invalid_parameter_value',
            hint = 'name who holds the lock, one name for each run';
    end if;
    perform lock_in_turn(p_organization_id, p_name);
    select * into v_lock from locks_now where organization_id = p_organization_id and name = p_name;
    v_now := clock_timestamp();
    if v_lock.held then
        if v_lock.execution_id is not null or v_lock.owner <> p_owner or v_lock.held_by <> p_held_by then return null; end if;
        update locks set held_until = greatest(held_until, v_now + p_ttl)
        where organization_id = p_organization_id and name = p_name;
        return v_lock.token;
    end if;
    v_token := nextval('lock_tokens');
    insert into locks (organization_id, name, owner, held_by, token, acquired_at, held_until)
    values (p_organization_id, p_name, p_owner, p_held_by, v_token, v_now, v_now + p_ttl)
    on conflict (organization_id, name) do update
    set owner = excluded.owner, held_by = excluded.held_by, token = excluded.token, acquired_at = excluded.acquired_at,
        held_until = excluded.held_until, execution_id = null, attempt_id = null;
    -- What ended long ago by itself nobody wonders about any more.
    delete from locks where (organization_id, name) in (
        select organization_id, name from locks where held_until < v_now - interval '1 day' and execution_id is null
        order by held_until limit 10 for update skip locked);
    return v_token;
end $$;

create or replace function renew_lock(p_name text, p_token bigint, p_ttl interval default '60 seconds',
                                      p_organization_id text default 'default', p_held_by text default null)
returns boolean language plpgsql as $$
declare
    v_lock locks;
    v_now  timestamptz;
begin
    perform check_lock_ttl(p_ttl);
    perform lock_in_turn(p_organization_id, p_name);
    select * into v_lock from locks
    where organization_id = p_organization_id and name = p_name and token = p_token and execution_id is null;
    v_now := clock_timestamp();
    if not found or v_lock.held_until <= v_now or v_lock.held_by <> coalesce(p_held_by, v_lock.held_by) then
        return false;
    end if;
    update locks set held_until = v_now + p_ttl where organization_id = p_organization_id and name = p_name;
    return true;
end $$;

create or replace function release_lock(p_name text, p_token bigint, p_organization_id text default 'default',
                                        p_held_by text default null)
returns boolean language plpgsql as $$
declare
    v_until timestamptz;
begin
    perform lock_in_turn(p_organization_id, p_name);
    delete from locks
    where organization_id = p_organization_id and name = p_name and token = p_token and execution_id is null
      and held_by = coalesce(p_held_by, held_by)
    returning held_until into v_until;
    perform tell_lock_is_free(p_organization_id, p_name);
    return coalesce(v_until > clock_timestamp(), false);
end $$;

-- Takes it from whoever has it, and tells who.
create function break_lock(p_name text, p_organization_id text default 'default') returns setof locks_now language plpgsql as $$
declare
    v_lock locks_now;
begin
    perform lock_in_turn(p_organization_id, p_name);
    select * into v_lock from locks_now where organization_id = p_organization_id and name = p_name;
    if not found then return; end if;
    delete from locks where organization_id = p_organization_id and name = p_name;
    perform tell_lock_is_free(p_organization_id, p_name);
    return next v_lock;
end $$;

create or replace function lock_is_held(p_name text, p_token bigint, p_organization_id text default 'default')
returns boolean language sql stable as $$
    select exists (select from locks_now where organization_id = p_organization_id and name = p_name and token = p_token and held)
$$;
