-- Work that is due again and again: what somebody has asked for (schedules), how far each has come (schedule_states, which
-- only the scheduler moves), and what became of each due time (schedule_runs: one due time starts once).
create table schedules (
    schedule_id     uuid primary key default gen_random_uuid(),
    organization_id text not null references organizations,
    name            text not null check (length(name) between 1 and 200),
    -- As schedules/schedule_json.h reads it.
    definition      json not null,
    version         integer not null default 1,
    updated_at      timestamptz not null default now(),
    updated_by      text not null,
    paused_at       timestamptz,
    paused_by       text,
    pause_reason    text,
    paused_until    timestamptz,
    unique (organization_id, name)
);
create trigger catalogue_changed after insert or update or delete on schedules
    for each statement execute function bump_catalogue_version();

create table schedule_states (
    schedule_id       uuid primary key references schedules on delete cascade,
    -- Grows with everything that is done about it: who decides by an older state is refused.
    moves             bigint not null default 0,
    -- Null: it has ended.
    next_due_at       timestamptz,
    runs              bigint not null default 0,
    last_due_at       timestamptz,
    last_execution_id uuid
);

create table schedule_runs (
    schedule_id  uuid not null references schedules on delete cascade,
    due_at       timestamptz not null,
    outcome      text not null check (outcome in ('started', 'waiting', 'skipped', 'missed', 'refused')),
    detail       text not null default '',
    execution_id uuid,
    at           timestamptz not null default now(),
    primary key (schedule_id, due_at)
);
create index schedule_runs_started on schedule_runs (schedule_id, at) where outcome = 'started';
create index schedule_runs_over on schedule_runs (schedule_id, at) where outcome <> 'waiting';
create index schedule_runs_waiting on schedule_runs (schedule_id, due_at) where outcome = 'waiting';
