-- Money: budgets, a ledger that is only appended to, and balances beside it. What may be spent is decided by these rows;
-- every movement locks its budgets first, in the order of their ids, so that two of them never count on the same dollar.

-- resource_manager/budget.h has the meaning. A retired budget grants nothing more; what it has granted is settled.
create table budgets (
    budget_id           uuid primary key,
    name                text not null check (name ~ '^[a-z0-9_.-]{1,63}$'),
    scope_organization  text,
    scope_provider      text,
    scope_workflow_type text,
    scope_batch         uuid,
    window_unit         text not null check (window_unit in ('day', 'week', 'month', 'rolling', 'batch')),
    time_zone           text not null default 'UTC',
    reset_hour          integer not null default 0 check (reset_hour between 0 and 23),
    first_weekday       integer not null default 1 check (first_weekday between 1 and 7),
    window_hours        integer not null default 24 check (window_hours between 1 and 744),
    limit_microusd      bigint not null check (limit_microusd between 1 and 999999999999999999),
    hard                boolean not null,
    steps               jsonb not null,
    version             integer not null default 1,
    updated_at          timestamptz not null default now(),
    updated_by          text not null default '',
    reason              text not null default '',
    retired_at          timestamptz,
    -- How many steps are on, and in which window they began.
    steps_on            integer not null default 0 check (steps_on >= 0),
    steps_window_start  timestamptz,
    steps_window_end    timestamptz,
    -- Somebody has approved going on until then.
    approved_until      timestamptz,
    approved_by         text,
    check (window_unit <> 'batch' or scope_batch is not null)
);
create unique index budgets_names on budgets (coalesce(scope_organization, ''), name) where retired_at is null;
create index budgets_batches on budgets (scope_batch) where scope_batch is not null;
create trigger budgets_changed after insert or update or delete on budgets
    for each statement execute function bump_catalogue_version();

-- What each was at each time, by whom and why; definition null: retired.
create table budget_versions (
    budget_id  uuid not null,
    version    integer not null,
    definition jsonb,
    at         timestamptz not null default now(),
    by         text not null default '',
    reason     text not null default '',
    primary key (budget_id, version)
);

-- One row is one budget's part of one movement of an attempt's money: what leaves one account enters another. The same
-- movement twice is one row. A budget and an execution are never deleted, so foreign keys would say nothing more.
create table ledger_entries (
    attempt_id   uuid not null,
    movement     text not null check (movement in ('reserve', 'top_up', 'suspend', 'settle', 'release', 'correct')),
    -- Which of that kind: a delivery that is repeated reserves anew.
    ordinal      integer not null,
    budget_id    uuid not null,
    entry_id     bigint not null generated always as identity,
    execution_id uuid not null,
    -- The window that the money was reserved in, whenever this was written (protocol R18).
    window_start timestamptz not null,
    window_end   timestamptz not null,
    available    bigint not null,
    reserved     bigint not null,
    suspense     bigint not null,
    settled      bigint not null,
    -- Settled after a deadline, by what was expected: a later report corrects it.
    estimated    boolean not null default false,
    at           timestamptz not null default now(),
    primary key (attempt_id, movement, ordinal, budget_id),
    check (available + reserved + suspense + settled = 0),
    check (window_start < window_end)
) with (autovacuum_analyze_threshold = 50000, autovacuum_vacuum_insert_threshold = 50000);
create index ledger_entries_at on ledger_entries using brin (at);

create function refuse_ledger_change() returns trigger language plpgsql as $$
begin
    raise exception 'ledger_entries is only appended to' using errcode = 'restrict_violation',
        hint = 'what was booked wrongly is put right by a correction';
end $$;
create trigger ledger_entries_stay before update or delete or truncate on ledger_entries
    for each statement execute function refuse_ledger_change();

-- The sums of the entries, kept with them. numeric: no sum of amounts overflows it.
create table budget_balances (
    budget_id    uuid not null references budgets,
    window_start timestamptz not null,
    window_end   timestamptz not null,
    settled      numeric(38, 0) not null default 0 check (settled >= 0),
    reserved     numeric(38, 0) not null default 0 check (reserved >= 0),
    suspense     numeric(38, 0) not null default 0 check (suspense >= 0),
    updated_at   timestamptz not null default now(),
    primary key (budget_id, window_start, window_end),
    check (window_start < window_end)
    -- A few rows that are rewritten all the time: with room on their page each update stays on it.
) with (fillfactor = 20);
