drop function break_lock(text, text);
drop function lock_is_held(text, bigint, text);
drop function release_lock(text, bigint, text, text);
drop function renew_lock(text, bigint, interval, text, text);
drop function acquire_lock(text, text, interval, text, text);
drop function tell_lock_is_free(text, text);
drop function lock_in_turn(text, text);
drop view locks_now;
delete from locks where execution_id is not null;
alter table locks drop constraint locks_of_attempts, drop column execution_id, drop column attempt_id;
drop trigger catalogue_changed_lock on workflow_types;
alter table workflow_types drop column lock_name;

-- The token of whoever holds it now, or null: another owner does. The same owner asking again has it still: one name for
-- each run, or two of them hold it together. The time and the token are taken once the row is locked: who has waited for
-- somebody else's transaction is not late by that, and a later holder never has the lower token.
create function acquire_lock(p_name text, p_owner text, p_ttl interval default '60 seconds',
                             p_organization_id text default 'default', p_held_by text default '')
returns bigint language plpgsql as $$
declare
    v_lock locks;
    v_now  timestamptz;
begin
    perform check_lock_ttl(p_ttl);
    if coalesce(p_owner, '') = '' then
        raise exception 'p_owner is missing' using errcode = 'invalid_parameter_value',
            hint = 'name who holds the lock, one name for each run';
    end if;
    loop
        select * into v_lock from locks where organization_id = p_organization_id and name = p_name for update;
        exit when found;
        insert into locks (organization_id, name, owner, token, acquired_at, held_until)
        values (p_organization_id, p_name, p_owner, 0, '-infinity', '-infinity') on conflict do nothing;
    end loop;
    v_now := clock_timestamp();
    if v_lock.held_until > v_now then
        if v_lock.owner <> p_owner or v_lock.held_by <> p_held_by then return null; end if;
        update locks set held_until = greatest(held_until, v_now + p_ttl)
        where organization_id = p_organization_id and name = p_name;
        return v_lock.token;
    end if;
    v_lock.token := nextval('lock_tokens');
    update locks
    set owner = p_owner, held_by = p_held_by, token = v_lock.token, acquired_at = v_now, held_until = v_now + p_ttl
    where organization_id = p_organization_id and name = p_name;
    -- What ended long ago by itself nobody wonders about any more.
    delete from locks where (organization_id, name) in (
        select organization_id, name from locks where held_until < v_now - interval '1 day'
        order by held_until limit 10 for update skip locked);
    return v_lock.token;
end $$;

-- False: it is not held with this token any more; whoever had it must stop. p_held_by null: whoever it is held by.
create function renew_lock(p_name text, p_token bigint, p_ttl interval default '60 seconds',
                           p_organization_id text default 'default', p_held_by text default null)
returns boolean language plpgsql as $$
declare
    v_lock locks;
    v_now  timestamptz;
begin
    perform check_lock_ttl(p_ttl);
    select * into v_lock from locks
    where organization_id = p_organization_id and name = p_name and token = p_token for update;
    v_now := clock_timestamp();
    if not found or v_lock.held_until <= v_now or v_lock.held_by <> coalesce(p_held_by, v_lock.held_by) then
        return false;
    end if;
    update locks set held_until = v_now + p_ttl where organization_id = p_organization_id and name = p_name;
    return true;
end $$;

-- False: it was not held with this token any more, so others may have been at work meanwhile.
create function release_lock(p_name text, p_token bigint, p_organization_id text default 'default',
                             p_held_by text default null)
returns boolean language plpgsql as $$
declare
    v_until timestamptz;
begin
    delete from locks
    where organization_id = p_organization_id and name = p_name and token = p_token
      and held_by = coalesce(p_held_by, held_by)
    returning held_until into v_until;
    return coalesce(v_until > clock_timestamp(), false);
end $$;

-- Whether it is held with this token now: for who is about to change what the lock guards.
create function lock_is_held(p_name text, p_token bigint, p_organization_id text default 'default')
returns boolean language sql stable as $$
    select exists (select from locks where organization_id = p_organization_id and name = p_name and token = p_token
                                       and held_until > clock_timestamp())
$$;
