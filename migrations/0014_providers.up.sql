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
    -- Nobody sends it after that.
    lease_until     timestamptz not null,
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

-- The limits of providers as check_resource_availability shows them. What is used is counted from the grants: the hub, which
-- counts from the end of each request, may be a little stricter. A token bucket is shown as a window of its refill.
create function provider_availability() returns table (
    resource_type text, available boolean, current_usage integer, limit_value integer, reset_time timestamptz)
language sql stable as $$
    -- Money in whole dollars, as the columns are integers.
    select format('provider:%s:%s', l.provider, l.name), u.used < l.most,
           least(case when l.of = 'cost' then u.used / 1000000 else u.used end, 2147483647)::integer,
           least(case when l.of = 'cost' then l.most / 1000000 else l.most end, 2147483647)::integer,
           case when u.used >= l.most then coalesce(l.since + l.span, u.first + l.span) end
    from (select p.name as provider, j ->> 'name' as name, j ->> 'of' as of, s.span,
                 case when j ->> 'of' = 'cost' then ((j ->> 'limit')::numeric * 1000000)::bigint else (j ->> 'limit')::bigint end as most,
                 case when j ->> 'kind' = 'fixed_window'
                      then date_bin(s.span, now(), '2000-01-01 00:00+00'::timestamptz + coalesce(j ->> 'reset_at', '00:00')::interval) end as since
          from providers p cross join lateral jsonb_array_elements(p.limits) j
          cross join lateral (select case j ->> 'per' when 'second' then interval '1 second' when 'minute' then interval '1 minute'
                when 'hour' then interval '1 hour' when 'day' then interval '1 day'
                else make_interval(secs => (j ->> 'per')::double precision) end as span) s
          where coalesce(j ->> 'scope', 'global') = 'global') l
    cross join lateral (
        select coalesce(sum(case l.of when 'requests' then m.calls when 'tokens' then m.tokens when 'items' then m.items
                            when 'cost' then m.cost_microusd else 1 end), 0)::bigint as used, min(m.granted_at) as first
        from provider_permits m
        where m.provider = l.provider
          and case when l.of = 'concurrency'
                   then exists (select from executions e where e.execution_id = m.execution_id and e.attempt_id = m.attempt_id
                                and e.fence = m.fence and e.timeout_at is not null)
                   else m.granted_at > coalesce(l.since, now() - l.span) end) u
$$;

-- Which workflow types have an endpoint that may be asked: a function of its own, so that what else closes an endpoint
-- changes nothing but this.
create function endpoint_availability() returns table (
    resource_type text, available boolean, current_usage integer, limit_value integer, reset_time timestamptz)
language sql stable as $$
    select 'endpoint:' || e.workflow_type, bool_or(e.held_until is null or e.held_until <= now()),
           count(*) filter (where e.held_until > now())::integer, count(*)::integer, min(e.held_until) filter (where e.held_until > now())
    from endpoints e where e.organization_id = 'default' group by e.workflow_type
$$;

-- 003: check_resource_availability, with the limits of providers.
create or replace function check_resource_availability() returns table (
    resource_type text, available boolean, current_usage integer, limit_value integer, reset_time timestamptz)
language sql stable as $$
    select 'concurrency:' || t.name, c.n < t.max_concurrency, c.n::integer, t.max_concurrency, null::timestamptz
    from workflow_types t cross join lateral (
        select count(*) as n from executions e
        where e.timeout_at is not null and e.organization_id = t.organization_id and e.workflow_type = t.name) c
    where t.organization_id = 'default' and t.max_concurrency is not null
    union all
    select 'database_connections', count(*) < 20, count(*)::integer, 20, null
    from pg_stat_activity where application_name like 'impresario%' and datname = current_database()
    union all
    select * from endpoint_availability()
    union all
    select * from provider_availability()
$$;
