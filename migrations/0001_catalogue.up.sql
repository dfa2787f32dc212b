-- What can run, who may ask, and what is stopped by hand.
-- Why first: everything else belongs to an organization and names a workflow type.

create table organizations (
    organization_id text primary key check (organization_id ~ '^[a-z0-9][a-z0-9_-]{0,62}$'),
    name            text not null,
    created_at      timestamptz not null default now()
);
insert into organizations (organization_id, name) values ('default', 'Default');

-- One number that grows with every change of what nodes keep in memory. They are told, and poll it once a second
-- because being told is only a hint.
create table catalogue_version (
    one     boolean primary key default true check (one),
    version bigint not null default 1
);
insert into catalogue_version default values;

create function bump_catalogue_version() returns trigger language plpgsql as $$
begin
    update catalogue_version set version = version + 1;
    perform pg_notify('orchestration_event', 'catalogue');
    return null;
end $$;

create table workflow_types (
    organization_id       text not null references organizations,
    name                  text not null check (length(name) between 1 and 200),
    lane_id               uuid not null unique default gen_random_uuid(),
    enabled               boolean not null default true,
    importance            text not null default 'normal' check (importance in ('critical', 'high', 'normal', 'low')),
    timeout_seconds       integer not null default 300 check (timeout_seconds between 1 and 604800),
    max_runtime_seconds   integer not null default 3600 check (max_runtime_seconds between 1 and 2592000),
    max_concurrency       integer check (max_concurrency between 1 and 100000),
    concurrency_key       text check (concurrency_key is null or concurrency_key like '/%'),
    concurrency_key_limit integer not null default 1 check (concurrency_key_limit between 1 and 100000),
    max_wait_seconds      integer not null default 14400 check (max_wait_seconds between 1 and 2592000),
    -- {"name": "master"} or a policy written out; domain/retry.h has the meaning.
    retry_policy          jsonb not null default '{"name": "master", "max_retries": 3}',
    max_retries           integer not null default 3 check (max_retries between 0 and 1000),
    retry_rejected        boolean not null default false,
    accept_late           boolean not null default false,
    -- Statuses that leave open whether the peer has started (R7).
    unknown_statuses      integer[] not null default '{502,504,520,521,522,523,524}',
    cost_estimate_microusd bigint check (cost_estimate_microusd >= 0),
    call_estimates        jsonb not null default '[]',
    -- Sealed under the hub key: what we must send and must not show.
    bearer_sealed         text,
    headers_sealed        text,
    signing_sealed        text[] not null default '{}' check (cardinality(signing_sealed) <= 2),
    source                text not null default 'api' check (source in ('api', 'config', 'seed')),
    version               integer not null default 1,
    -- The number of the lane stream's latest event.
    last_seq              integer not null default 0,
    created_at            timestamptz not null default now(),
    updated_at            timestamptz not null default now(),
    primary key (organization_id, name)
);

create table endpoints (
    endpoint_id     uuid primary key default gen_random_uuid(),
    organization_id text not null,
    workflow_type   text not null,
    url             text not null check (length(url) between 1 and 2048),
    weight          integer not null default 1 check (weight between 1 and 1000),
    status_url      text,
    max_in_flight   integer not null default 64 check (max_in_flight between 1 and 10000),
    -- Declared by the operator; null: not known, then what it answered counts.
    deduplicates        boolean,
    learnt_deduplicates boolean not null default false,
    held_until      timestamptz,
    held_since      timestamptz,
    held_reason     text,
    held_detail     text,
    holds           integer not null default 0,
    foreign key (organization_id, workflow_type) references workflow_types on update cascade on delete cascade,
    unique (organization_id, workflow_type, url)
);

-- Stopped by hand. '' stands for "all of them".
create table pauses (
    organization_id text not null default '',
    workflow_type   text not null default '',
    reason          text not null default '',
    paused_by       text not null default '',
    since           timestamptz not null default now(),
    until_at        timestamptz,
    primary key (organization_id, workflow_type)
);

create table api_keys (
    key_id          uuid primary key,
    organization_id text not null references organizations,
    name            text not null,
    role            text not null check (role in ('viewer', 'submitter', 'operator', 'admin')),
    -- SHA-256: the keys are random and long, so nothing slower is needed.
    hash            bytea not null unique,
    hint            text not null,
    created_at      timestamptz not null default now(),
    revoked_at      timestamptz
);

-- last_seq moves with every event of the lane and is nobody's definition.
create trigger catalogue_changed after insert or delete or update of organization_id, name, enabled, importance,
    timeout_seconds, max_runtime_seconds, max_concurrency, concurrency_key, concurrency_key_limit, max_wait_seconds,
    retry_policy, max_retries, retry_rejected, accept_late, unknown_statuses, cost_estimate_microusd, call_estimates,
    bearer_sealed, headers_sealed, signing_sealed on workflow_types
    for each statement execute function bump_catalogue_version();
create trigger catalogue_changed after insert or update or delete on endpoints
    for each statement execute function bump_catalogue_version();
create trigger catalogue_changed after insert or update or delete on pauses
    for each statement execute function bump_catalogue_version();
create trigger catalogue_changed after insert or update or delete on api_keys
    for each statement execute function bump_catalogue_version();
