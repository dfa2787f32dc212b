-- Who decides, who is there, and why lanes wait.

-- Leadership is this one row (protocol R1); whoever writes as scheduler holds it FOR SHARE (R2).
create table scheduler (
    one         boolean primary key default true check (one),
    epoch       bigint not null default 0,
    node        uuid,
    backend_pid integer,
    renewed_at  timestamptz,
    lease_until timestamptz not null default '-infinity'
);
insert into scheduler default values;

create table nodes (
    node         uuid primary key,
    name         text not null,
    hub_version  integer not null,
    state        text not null check (state in ('delivering', 'draining')),
    backend_pid  integer,
    started_at   timestamptz not null default now(),
    heartbeat_at timestamptz not null default now(),
    lease_until  timestamptz not null,
    last_seq     integer not null default 0
);

-- The state machine of 003, as the scheduler last showed it.
create table orchestrator_state (
    one            boolean primary key default true check (one),
    node           uuid,
    state          text not null default 'IDLE'
                   check (state in ('IDLE', 'ANALYZING', 'DISPATCHING', 'MONITORING', 'ERROR_RECOVERY', 'COOLDOWN')),
    since          timestamptz not null default now(),
    why            text not null default '',
    -- Seconds spent in each state since the scheduler took over.
    seconds_in     jsonb not null default '{}',
    last_execution timestamptz,
    next_scheduled timestamptz
);
insert into orchestrator_state default values;

-- Why a lane waits: one row for each interval in which a gate was closed (protocol R15). ended_at null: it is closed now.
create table lane_gates (
    organization_id text not null,
    workflow_type   text not null,
    gate            text not null,
    subject         text not null,
    detail          text not null,
    numbers         json not null default '{}',
    since           timestamptz not null default now(),
    opens_at        timestamptz,
    ended_at        timestamptz
);
create unique index lane_gates_closed on lane_gates (organization_id, workflow_type) where ended_at is null;
create index lane_gates_history on lane_gates (organization_id, workflow_type, since desc);
