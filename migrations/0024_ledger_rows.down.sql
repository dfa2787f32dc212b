create table old_entries (
    attempt_id   uuid not null,
    movement     text not null check (movement in ('reserve', 'top_up', 'suspend', 'settle', 'release', 'correct')),
    ordinal      integer not null,
    budget_id    uuid not null,
    entry_id     bigint not null generated always as identity,
    execution_id uuid not null,
    window_start timestamptz not null,
    window_end   timestamptz not null,
    available    bigint not null,
    reserved     bigint not null,
    suspense     bigint not null,
    settled      bigint not null,
    estimated    boolean not null default false,
    at           timestamptz not null default now(),
    constraint ledger_entries_pkey primary key (attempt_id, movement, ordinal, budget_id),
    constraint ledger_entries_check check (available + reserved + suspense + settled = 0),
    constraint ledger_entries_check1 check (window_start < window_end)
) with (autovacuum_analyze_threshold = 50000, autovacuum_vacuum_insert_threshold = 50000);
insert into old_entries (attempt_id, movement, ordinal, budget_id, execution_id, window_start, window_end, available, reserved,
                         suspense, settled, estimated, at)
select attempt_id, movement, ordinal, budget_id, execution_id, window_start, window_end, available, reserved, suspense, settled,
       estimated, at
from ledger_entries order by entry_id;
drop view ledger_entries;
drop function insert_ledger_entry();
drop table ledger_movements;
drop table ledger_accounts;
alter table old_entries rename to ledger_entries;
create index ledger_entries_at on ledger_entries using brin (at);
create or replace function refuse_ledger_change() returns trigger language plpgsql as $$
begin
    raise exception 'ledger_entries is only appended to' using errcode = 'restrict_violation',
        hint = 'what was booked wrongly is put right by a correction';
end $$;
create trigger ledger_entries_stay before update or delete or truncate on ledger_entries
    for each statement execute function refuse_ledger_change();

create table old_permits (
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
    lease_until     timestamptz not null,
    constraint provider_permits_pkey primary key (attempt_id, fence, provider)
) with (autovacuum_analyze_threshold = 50000, autovacuum_vacuum_insert_threshold = 50000);
insert into old_permits select * from provider_permits;
drop view provider_permits;
drop table permits;
alter table old_permits rename to provider_permits;
create index provider_permits_age on provider_permits (granted_at);
