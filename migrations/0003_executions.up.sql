-- The execution: one narrow hot row, its payloads beside it, and the table of 003 as a view over both.
-- Why apart: the hot row is rewritten three times in its life, its payload never; updates that touch no indexed column
-- (acceptance, heartbeat) stay on their page.

create table executions (
    execution_id    uuid primary key,
    organization_id text not null default 'default',
    workflow_type   text not null,
    status          text not null check (status in ('queued', 'analyzing', 'dispatching', 'running', 'retrying',
                                                    'completed', 'failed', 'cancelled', 'dead')),
    priority        smallint not null default 50 check (priority between 0 and 100),
    created_at      timestamptz not null default now(),
    scheduled_at    timestamptz not null default now(),
    updated_at      timestamptz not null default now(),

    -- In the ready index: may be claimed as far as the row itself knows.
    ready           boolean not null default false,
    -- When it last became due (max_wait counts from here).
    ready_at        timestamptz,
    -- When a timer makes it ready.
    due_at          timestamptz,
    started_at      timestamptz,
    completed_at    timestamptz,
    -- The live attempt's deadline; set exactly while an attempt holds a slot.
    timeout_at      timestamptz,

    retry_count     integer not null default 0 check (retry_count >= 0),
    max_retries     integer not null default 3 check (max_retries >= 0),

    -- The live attempt (protocol R8: one row, one lock).
    attempts        integer not null default 0,
    attempt_id      uuid,
    attempt_state   text check (attempt_state in ('granted', 'sending', 'accepted', 'unknown', 'waiting_redelivery')),
    attempt_node    uuid,
    -- The node that is to fetch it; set only while the attempt is granted to another node than the scheduler's.
    granted_to      uuid,
    fence           integer not null default 0,
    lease_until     timestamptz,
    granted_at      timestamptz,
    accepted_at     timestamptz,
    endpoint_id     uuid,
    deliveries      integer not null default 0,

    opening         integer not null default 1,
    last_seq        integer not null default 0,

    parent_execution_id uuid references executions,
    parent_attempt_id   uuid,
    child_ordinal       integer not null default 0,
    open_children       integer not null default 0,
    batch_id            uuid,

    concurrency_key text,
    -- A gate of its own, as last recorded: {kind, subject, detail, numbers, opens_at}.
    gate            json,
    gate_since      timestamptz,
    reason          text,

    duration_ms     bigint check (duration_ms >= 0),
    cost_microusd   bigint check (cost_microusd >= 0),
    items_processed bigint check (items_processed >= 0),
    progress        json,

    check (not ready or due_at is null),
    check (not ready or status in ('queued', 'retrying')),
    check ((attempt_id is null) = (attempt_state is null)),
    check (status not in ('completed', 'failed', 'cancelled', 'dead') or (attempt_id is null and due_at is null))
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);

-- No index mentions status or attempt_state, so that an acceptance is a HOT update.
create index executions_ready on executions (organization_id, workflow_type, priority desc, created_at, execution_id) where ready;
create index executions_ready_since on executions (organization_id, workflow_type, ready_at, execution_id) where ready;
create index executions_due on executions (due_at, execution_id) where due_at is not null;
create index executions_live on executions (timeout_at, execution_id) where timeout_at is not null;
create index executions_granted on executions (granted_to) where granted_to is not null;
create index executions_gated on executions (organization_id, workflow_type) where gate is not null;
create index executions_listed on executions (organization_id, created_at desc, execution_id desc);
create index executions_parents on executions (execution_id) where open_children > 0;
create unique index executions_children on executions (parent_execution_id, parent_attempt_id, child_ordinal)
    where parent_execution_id is not null;
create index executions_batches on executions (batch_id) where batch_id is not null;

-- Payloads: written once, by the same transaction as the row they belong to, so no foreign key is checked for them.
create table execution_inputs (
    execution_id uuid primary key,
    input_data   json,
    context      json
);

create table execution_results (
    execution_id   uuid not null,
    -- Which opening of the execution it ended.
    opening        integer not null,
    result_data    json,
    error_data     json,
    items          json,
    sanitised      boolean not null default false,
    peer_reference text,
    recorded_at    timestamptz not null default now(),
    primary key (execution_id, opening)
);

create table workflow_resource_usage (
    id            uuid primary key default gen_random_uuid(),
    execution_id  uuid not null references executions on delete cascade,
    resource_type text not null,
    provider      text,
    usage_amount  bigint not null check (usage_amount >= 0),
    cost_usd      numeric(18, 6) check (cost_usd >= 0),
    timestamp     timestamptz default now(),
    -- The caller's name for it; twice the same is recorded once.
    usage_id      text,
    unique (execution_id, usage_id)
);
create index workflow_resource_usage_time on workflow_resource_usage (timestamp);
