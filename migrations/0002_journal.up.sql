-- What happened: the events of every stream, in the transaction of the change they tell of.
-- xid makes it a change feed that misses nothing: commit order is neither time order nor id order (protocol R13).

create table events (
    event_id        bigint generated always as identity,
    xid             xid8 not null default pg_current_xact_id(),
    kind            text not null,
    stream_id       uuid not null,
    seq             integer not null,
    organization_id text not null,
    type            text not null,
    at              timestamptz not null default now(),
    -- The node that wrote it; null: plain SQL.
    writer          uuid,
    payload         json not null default '{}'
) with (autovacuum_vacuum_insert_scale_factor = 0.05);
create unique index events_stream on events (stream_id, seq);
create index events_feed on events (xid, event_id);

create table orchestrator_metrics (
    id           uuid primary key default gen_random_uuid(),
    metric_type  text not null,
    metric_value numeric(20, 6) not null,
    metadata     jsonb default '{}',
    timestamp    timestamptz default now()
);
create index orchestrator_metrics_time on orchestrator_metrics (metric_type, timestamp desc);
