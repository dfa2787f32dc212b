-- What waits for a time (002): one row for each wait, with the waiting token that stands for it as it is now. Nobody deletes a
-- timer to be rid of it: who moves or cancels one gives it another token, and what comes for the token before is stale,
-- however late it arrives. When one has come due its own stream says so, once, with the token.
create table timers (
    -- Its stream of events.
    timer_id        uuid primary key default gen_random_uuid(),
    organization_id text not null references organizations,
    name            text not null check (length(name) between 1 and 200),
    waiting_token   uuid not null default gen_random_uuid(),
    state           text not null default 'waiting' check (state in ('waiting', 'due', 'cancelled')),
    due_at          timestamptz not null check (isfinite(due_at)),
    -- What whoever is told gets along; of no meaning here.
    payload         json not null default '{}' check (octet_length(payload::text) <= 16384),
    -- When it came due or was cancelled.
    ended_at        timestamptz,
    updated_at      timestamptz not null default now(),
    updated_by      text not null default 'sql',
    last_seq        integer not null default 1,
    unique (organization_id, name),
    check ((state = 'waiting') = (ended_at is null))
);
-- The earliest of a million costs what the only one costs.
create index timers_due on timers (due_at, timer_id) where state = 'waiting';
create index timers_of_organization on timers (organization_id, due_at, timer_id) where state = 'waiting';
create index timers_ended on timers (ended_at) where state <> 'waiting';

-- Who writes as a hub says so for its transaction: it wakes the scheduler by itself, and an event names its writer.
create function hub_writer() returns uuid language sql stable as $$
    select nullif(current_setting('impresario.writer', true), '')::uuid
$$;

create function tell_timer(p_timer timers, p_type text) returns void language sql as $$
    insert into events (kind, stream_id, seq, organization_id, type, writer, payload)
    values ('timer', p_timer.timer_id, p_timer.last_seq, p_timer.organization_id, p_type, hub_writer(),
            json_build_object('name', p_timer.name, 'waiting_token', p_timer.waiting_token, 'due_at', p_timer.due_at, 'by', p_timer.updated_by,
                              'payload', p_timer.payload))
$$;

create function timer_added() returns trigger language plpgsql as $$
begin
    if new.state <> 'waiting' or new.last_seq <> 1 then
        raise exception 'a timer begins by waiting' using errcode = 'check_violation', hint = 'leave out state and last_seq';
    end if;
    perform tell_timer(new, 'timer.set');
    return null;
end $$;
create trigger timer_added after insert on timers for each row execute function timer_added();

-- Whoever changes it, by plain SQL as well: what it waits for is not the same any more, so its token is not.
create function timer_moved() returns trigger language plpgsql as $$
begin
    if (new.state, new.due_at, new.payload::text) is not distinct from (old.state, old.due_at, old.payload::text) then
        new.waiting_token := old.waiting_token;
        return new;
    end if;
    if new.state <> 'waiting' and old.state <> 'waiting' then
        raise exception 'the timer % has ended: it is %', old.name, old.state
            using errcode = 'check_violation', hint = 'set it anew';
    end if;
    new.waiting_token := case when new.state = 'due' then old.waiting_token else gen_random_uuid() end;
    new.ended_at := case when new.state <> 'waiting' then now() end;
    new.updated_at := now();
    new.last_seq := old.last_seq + 1;
    perform tell_timer(new, 'timer.' || case new.state when 'waiting' then 'set' else new.state end);
    return new;
end $$;
create trigger timer_moved before update on timers for each row execute function timer_moved();

create function timer_removed() returns trigger language plpgsql as $$
begin
    old.last_seq := old.last_seq + 1;
    perform tell_timer(old, 'timer.cancelled');
    return null;
end $$;
create trigger timer_removed after delete on timers for each row when (old.state = 'waiting') execute function timer_removed();

create function announce_timers() returns trigger language plpgsql as $$
begin
    if hub_writer() is null and exists (select from changed where state = 'waiting') then
        perform pg_notify('orchestration_event', 'timers');
    end if;
    return null;
end $$;
create trigger announce_timers_added after insert on timers referencing new table as changed
    for each statement execute function announce_timers();
create trigger announce_timers_moved after update on timers referencing new table as changed
    for each statement execute function announce_timers();

-- Sets it, or moves it; with p_token only where that is the token it waits under, else no row comes back. Asked again for
-- what it is already it stays as it is, with its token.
create function put_timer(p_organization_id text, p_name text, p_due_at timestamptz, p_payload json, p_by text, p_token uuid default null)
returns setof timers language sql as $$
    insert into timers as t (organization_id, name, due_at, payload, updated_by)
    select p_organization_id, p_name, p_due_at, coalesce(p_payload, '{}'), p_by
    where p_token is null
       or exists (select from timers w where w.organization_id = p_organization_id and w.name = p_name and w.waiting_token = p_token)
    on conflict (organization_id, name) do update
        set state = 'waiting', due_at = excluded.due_at, payload = excluded.payload, updated_by = excluded.updated_by
        where p_token is null or (t.state = 'waiting' and t.waiting_token = p_token)
    returning t.*
$$;

create function end_timer(p_organization_id text, p_name text, p_by text, p_token uuid default null) returns setof timers language sql as $$
    update timers set state = 'cancelled', updated_by = p_by
    where organization_id = p_organization_id and name = p_name and state = 'waiting' and (p_token is null or waiting_token = p_token)
    returning *
$$;

-- For SQL callers. The token that it waits under from now on.
create function set_timer(p_name text, p_due_at timestamptz, p_payload json default '{}', p_organization_id text default 'default') returns uuid
language sql as $$
    select waiting_token from put_timer(p_organization_id, p_name, p_due_at, p_payload, 'sql')
$$;
-- False: none of that name waits (under that token).
create function cancel_timer(p_name text, p_token uuid default null, p_organization_id text default 'default') returns boolean
language sql as $$
    select exists (select from end_timer(p_organization_id, p_name, 'sql', p_token))
$$;
