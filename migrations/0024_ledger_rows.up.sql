-- One row for a movement of money over all its budgets, and one for what a grant takes of all its providers: at each start
-- and end those are the same whatever number of budgets and limits there is. What they say is read by budget and by
-- provider as before: `ledger_entries` and `provider_permits` are views of them.
-- min_hub: 2

-- A budget's money in one of its windows.
create table ledger_accounts (
    account_id   bigint primary key generated always as identity,
    budget_id    uuid not null,
    window_start timestamptz not null,
    window_end   timestamptz not null,
    unique (budget_id, window_start, window_end),
    check (window_start < window_end)
);

-- What leaves one of an account's parts enters another: what its other three change by, `available` changes by the other
-- way round. The arrays go by the accounts; one that is empty is all zeros. The same movement twice is one row. A budget and
-- an execution are never deleted, so foreign keys would say nothing more.
create table ledger_movements (
    attempt_id   uuid not null,
    movement     text not null check (movement in ('reserve', 'top_up', 'suspend', 'settle', 'release', 'correct')),
    -- Which of that kind: a delivery that is repeated reserves anew.
    ordinal      integer not null,
    movement_id  bigint not null generated always as identity,
    execution_id uuid not null,
    -- Of the windows that the money was reserved in, whenever this was written (protocol R18).
    accounts     bigint[] not null check (cardinality(accounts) > 0),
    reserved     bigint[] not null check (cardinality(reserved) in (0, cardinality(accounts))),
    suspense     bigint[] not null check (cardinality(suspense) in (0, cardinality(accounts))),
    settled      bigint[] not null check (cardinality(settled) in (0, cardinality(accounts))),
    -- Settled after a deadline, by what was expected: a later report corrects it.
    estimated    boolean not null default false,
    at           timestamptz not null default now(),
    primary key (attempt_id, movement, ordinal)
) with (autovacuum_analyze_threshold = 50000, autovacuum_vacuum_insert_threshold = 50000);
create index ledger_movements_at on ledger_movements using brin (at);

insert into ledger_accounts (budget_id, window_start, window_end)
select budget_id, window_start, window_end from ledger_entries
union select budget_id, window_start, window_end from budget_balances;
insert into ledger_movements (attempt_id, movement, ordinal, execution_id, accounts, reserved, suspense, settled, estimated, at)
select e.attempt_id, e.movement, e.ordinal, min(e.execution_id::text)::uuid, array_agg(a.account_id order by e.entry_id),
       array_agg(e.reserved order by e.entry_id), array_agg(e.suspense order by e.entry_id),
       array_agg(e.settled order by e.entry_id), bool_or(e.estimated), min(e.at)
from ledger_entries e join ledger_accounts a using (budget_id, window_start, window_end)
group by e.attempt_id, e.movement, e.ordinal order by min(e.entry_id);
drop table ledger_entries;

create or replace function refuse_ledger_change() returns trigger language plpgsql as $$
begin
    raise exception '% is only appended to', tg_table_name using errcode = 'restrict_violation',
        hint = 'what was booked wrongly is put right by a correction';
end $$;
create trigger ledger_movements_stay before update or delete or truncate on ledger_movements
    for each statement execute function refuse_ledger_change();
create trigger ledger_accounts_stay before update or delete or truncate on ledger_accounts
    for each statement execute function refuse_ledger_change();

-- One budget's part of a movement.
create view ledger_entries as
select m.attempt_id, m.movement, m.ordinal, a.budget_id, m.movement_id as entry_id, m.execution_id, a.window_start, a.window_end,
       -(coalesce(p.reserved, 0) + coalesce(p.suspense, 0) + coalesce(p.settled, 0)) as available,
       coalesce(p.reserved, 0) as reserved, coalesce(p.suspense, 0) as suspense, coalesce(p.settled, 0) as settled,
       m.estimated, m.at
from ledger_movements m
cross join lateral unnest(m.accounts, m.reserved, m.suspense, m.settled) as p(account_id, reserved, suspense, settled)
join ledger_accounts a using (account_id);

-- A correction by hand is a movement of one budget; its balance is moved by whoever writes it, or by `impresario fsck`.
create function insert_ledger_entry() returns trigger language plpgsql as $$
begin
    if new.available + new.reserved + new.suspense + new.settled <> 0 then
        raise exception 'available, reserved, suspense and settled must sum to zero' using errcode = 'check_violation',
            hint = 'what leaves one enters another';
    end if;
    insert into ledger_accounts (budget_id, window_start, window_end) values (new.budget_id, new.window_start, new.window_end)
    on conflict do nothing;
    insert into ledger_movements (attempt_id, movement, ordinal, execution_id, accounts, reserved, suspense, settled, estimated)
    select new.attempt_id, new.movement, new.ordinal, new.execution_id, array[account_id], array[new.reserved],
           array[new.suspense], array[new.settled], coalesce(new.estimated, false)
    from ledger_accounts
    where (budget_id, window_start, window_end) = (new.budget_id, new.window_start, new.window_end);
    return new;
end $$;
create trigger ledger_entries_insert instead of insert on ledger_entries for each row execute function insert_ledger_entry();

-- What a grant takes of its providers (protocol R19); the arrays go by `providers`. When its request ended is in deliveries
-- and attempts; only what was certainly not sent is deleted before its time.
create table permits (
    attempt_id      uuid not null,
    fence           integer not null,
    execution_id    uuid not null,
    organization_id text not null,
    workflow_type   text not null,
    delivery        integer not null,
    providers       text[] not null,
    calls           bigint[] not null check (cardinality(calls) = cardinality(providers)),
    tokens          bigint[] not null check (cardinality(tokens) = cardinality(providers)),
    items           bigint[] not null check (cardinality(items) = cardinality(providers)),
    cost_microusd   bigint[] not null check (cardinality(cost_microusd) = cardinality(providers)),
    granted_at      timestamptz not null default now(),
    -- Nobody sends it after that.
    lease_until     timestamptz not null,
    primary key (attempt_id, fence)
) with (autovacuum_analyze_threshold = 50000, autovacuum_vacuum_insert_threshold = 50000);
create index permits_granted on permits (granted_at);

insert into permits (attempt_id, fence, execution_id, organization_id, workflow_type, delivery, providers, calls, tokens, items,
                     cost_microusd, granted_at, lease_until)
select attempt_id, fence, min(execution_id::text)::uuid, min(organization_id), min(workflow_type), min(delivery),
       array_agg(provider order by provider), array_agg(calls order by provider), array_agg(tokens order by provider),
       array_agg(items order by provider), array_agg(cost_microusd order by provider), min(granted_at), max(lease_until)
from provider_permits group by attempt_id, fence;
drop table provider_permits;

create view provider_permits as
select p.attempt_id, p.fence, n.provider, p.execution_id, p.organization_id, p.workflow_type, p.delivery,
       n.calls, n.tokens, n.items, n.cost_microusd, p.granted_at, p.lease_until
from permits p
cross join lateral unnest(p.providers, p.calls, p.tokens, p.items, p.cost_microusd) as n(provider, calls, tokens, items, cost_microusd);
