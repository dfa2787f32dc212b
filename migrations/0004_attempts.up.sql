-- How each asking went: closed attempts (the live one is in the execution's row), their requests, the answers that
-- were refused, what ended in the dead-letter queue, and whom we have already answered.

create table attempts (
    execution_id uuid not null,
    number       integer not null,
    attempt_id   uuid not null,
    opening      integer not null,
    node         uuid,
    endpoint_id  uuid,
    deliveries   integer not null,
    granted_at   timestamptz,
    accepted_at  timestamptz,
    closed_at    timestamptz not null default now(),
    -- completed, failed, timeout, lost, partial, exhausted, rejected, cancelled, sql, superseded.
    outcome      text not null,
    detail       text,
    -- The callback that closed it: the same again is answered as it was (protocol R11).
    callback_sha256 bytea,
    callback_answer json,
    primary key (execution_id, number)
);

create table deliveries (
    execution_id uuid not null,
    attempt_id   uuid not null,
    number       integer not null,
    at           timestamptz not null,
    duration_us  bigint not null,
    url          text not null,
    address      text,
    status       integer,
    outcome      text not null,
    error        text,
    -- The first 4 KiB of what came back, secrets removed.
    answer       text,
    primary key (execution_id, attempt_id, number)
);

-- Callbacks that changed nothing: evidence, and what an operator may accept after all.
create table refused_callbacks (
    execution_id uuid not null,
    attempt_id   uuid not null,
    sha256       bytea not null,
    received_at  timestamptz not null default now(),
    times        integer not null default 1,
    status       text not null,
    problem      text not null,
    body         text not null,
    primary key (execution_id, attempt_id, sha256)
);

create table dead_letters (
    execution_id    uuid not null,
    opening         integer not null,
    organization_id text not null,
    workflow_type   text not null,
    reason          text not null,
    error           text,
    -- The same for the same kind of error: numbers and ids are left out.
    fingerprint     text not null,
    node            uuid,
    attempts        integer not null,
    at              timestamptz not null default now(),
    resolution      text check (resolution in ('retried', 'discarded', 'accepted')),
    resolved_at     timestamptz,
    resolved_by     text,
    -- What the input was before an operator edited it for the retry.
    original_input  json,
    primary key (execution_id, opening)
);
create index dead_letters_open on dead_letters (organization_id, at desc, execution_id) where resolved_at is null;
create index dead_letters_fingerprint on dead_letters (fingerprint) where resolved_at is null;

create table idempotency_keys (
    organization_id text not null,
    owner           text not null,
    route           text not null,
    key             text not null,
    body_sha256     bytea not null,
    status          integer not null,
    answer          json not null,
    created_at      timestamptz not null default now(),
    primary key (organization_id, owner, route, key)
);
create index idempotency_keys_age on idempotency_keys (created_at);
