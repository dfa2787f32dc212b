-- Fairness: what share of the starts each organization and type is to have. One policy for all; no row: the best head by
-- score goes next, whosever it is.
create table fairness (
    one        boolean primary key default true check (one),
    -- resource_manager/fairness.h has the meaning.
    policy     jsonb not null,
    version    integer not null,
    updated_at timestamptz not null default now(),
    updated_by text not null default '',
    reason     text not null default ''
);
create trigger fairness_changed after insert or update or delete on fairness
    for each statement execute function bump_catalogue_version();

-- What it was at each time, by whom and why; policy null: there was none from then on.
create table fairness_versions (
    version integer primary key,
    policy  jsonb,
    at      timestamptz not null default now(),
    by      text not null default '',
    reason  text not null default ''
);

-- How all stand, as the scheduler sees it: for the other nodes and for explanations. Written every second while it changes.
create table fairness_standings (
    one       boolean primary key default true check (one),
    at        timestamptz not null,
    standings text not null
) with (fillfactor = 20);
