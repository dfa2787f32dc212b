-- Locks for work that is not yet under the hub (003, phase 1): a name, who holds it, until when, and a fencing token that is
-- higher than every one before it. A row is a lock that is held, or was until lately; one that was released is no row.
-- PostgreSQL's clock decides.
create sequence lock_tokens as bigint;
create table locks (
    organization_id text not null,
    name            text not null check (char_length(name) between 1 and 200),
    owner           text not null check (char_length(owner) between 1 and 200),
    -- The API key that it is held by; empty: SQL.
    held_by         text not null default '',
    token           bigint not null,
    acquired_at     timestamptz not null,
    held_until      timestamptz not null,
    primary key (organization_id, name)
);
create index locks_held_until on locks (held_until);

create function check_lock_ttl(p_ttl interval) returns void language plpgsql immutable as $$
begin
    if p_ttl is null or p_ttl < interval '1 second' or p_ttl > interval '1 day' then
        raise exception 'p_ttl is %, and must be from 1 second to 1 day', coalesce(p_ttl::text, 'null')
            using errcode = 'invalid_parameter_value', hint = 'who needs it for longer renews it';
    end if;
end $$;

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
