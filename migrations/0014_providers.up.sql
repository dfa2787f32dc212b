-- Providers: APIs that workflow types call, and their limits. Whom a start was charged to is kept with it, so that a new
-- scheduler counts what the one before it granted.

create table providers (
    name       text primary key check (name ~ '^[a-z0-9_.-]{1,63}$'),
    -- resource_manager/provider.h has the meaning.
    limits     jsonb not null,
    version    integer not null default 1,
    updated_at timestamptz not null default now(),
    updated_by text not null default '',
    reason     text not null default ''
);
create trigger providers_changed after insert or update or delete on providers
    for each statement execute function bump_catalogue_version();

-- What each was at each time, by whom and why; limits null: deleted.
create table provider_versions (
    name    text not null,
    version integer not null,
    limits  jsonb,
    at      timestamptz not null default now(),
    by      text not null default '',
    reason  text not null default '',
    primary key (name, version)
);

-- One row for each grant and provider (protocol R19). When its request ended is in deliveries and attempts; only what was
-- certainly not sent is deleted before its time.
create table provider_permits (
    attempt_id      uuid not null,
    fence           integer not null,
    provider        text not null,
    execution_id    uuid not null,
    organization_id text not null,
    workflow_type   text not null,
    delivery        integer not null,
    calls           bigint not null,
    tokens          bigint not null,
    items           bigint not null,
    cost_microusd   bigint not null,
    granted_at      timestamptz not null default now(),
    primary key (attempt_id, fence, provider)
) with (autovacuum_analyze_threshold = 50000, autovacuum_vacuum_insert_threshold = 50000);
create index provider_permits_age on provider_permits (granted_at);

-- The providers of 003: 60 and 50 requests a minute, 300 and 200 USD a day.
insert into providers (name, limits, updated_by, reason) values
    ('gemini', '[{"name": "requests_per_minute", "of": "requests", "limit": 60, "per": "minute"},
                 {"name": "cost_per_day", "of": "cost", "limit": "300", "per": "day", "kind": "fixed_window"}]', 'seed', 'as in 003'),
    ('openai', '[{"name": "requests_per_minute", "of": "requests", "limit": 50, "per": "minute"},
                 {"name": "cost_per_day", "of": "cost", "limit": "200", "per": "day", "kind": "fixed_window"}]', 'seed', 'as in 003');
insert into provider_versions (name, version, limits, by, reason)
    select name, version, limits, updated_by, reason from providers;
