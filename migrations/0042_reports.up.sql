-- What ended when: reports, and what is usual at each hour of the week, are made of it.
create index executions_ended on executions (completed_at) where completed_at is not null;

-- Reports that came due (003: daily_summary, weekly_optimization), and whom they were sent to.
create table reports (
    report_id    uuid primary key default gen_random_uuid(),
    kind         text not null check (kind in ('daily', 'weekly')),
    period_start timestamptz not null,
    period_end   timestamptz not null,
    time_zone    text not null,
    -- For programs.
    content      json not null,
    -- As people read it (reports/document.h).
    document     json not null,
    created_at   timestamptz not null default now(),
    check (period_start < period_end),
    unique (kind, period_start, period_end)
);
create index reports_created on reports (created_at);

create table report_deliveries (
    report_id  uuid not null references reports on delete cascade,
    receiver   text not null,
    state      text not null default 'pending' check (state in ('pending', 'delivered', 'refused', 'lapsed')),
    attempts   integer not null default 0,
    -- Of these, those that left and were not answered.
    in_doubt   integer not null default 0,
    next_at    timestamptz not null default now(),
    error      text not null default '',
    settled_at timestamptz,
    primary key (report_id, receiver)
);
create index report_deliveries_pending on report_deliveries (next_at) where state = 'pending';
