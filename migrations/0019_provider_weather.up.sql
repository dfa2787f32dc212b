-- How each provider does, as the scheduler last knew it: a refusal, and what was learnt of it, outlive the scheduler that
-- heard of it. resource_manager/provider_weather.h has the meaning.
create table provider_weather (
    provider      text primary key,
    cooling_until timestamptz,
    since         timestamptz,
    why           text not null default '',
    learnt        bigint check (learnt >= 1),
    grows_at      timestamptz,
    refused_at    timestamptz,
    quota_of      text check (quota_of in ('requests', 'tokens')),
    quota_left    bigint check (quota_left >= 0),
    quota_said    timestamptz,
    quota_until   timestamptz,
    set_by        text not null default '',
    -- Counts what was set by hand, so that a scheduler that does not know of it yet does not undo it.
    orders        integer not null default 0,
    -- Its stream of events, and the number of the latest: kept when the provider is deleted, for one of that name may come
    -- again.
    stream_id     uuid not null default gen_random_uuid(),
    last_seq      integer not null default 0,
    updated_at    timestamptz not null default now(),
    check (num_nonnulls(quota_of, quota_left, quota_said, quota_until) in (0, 4))
) with (fillfactor = 50);
-- By hand only: what the scheduler writes down is no news to it.
create trigger provider_weather_set after update of orders on provider_weather
    for each statement execute function bump_catalogue_version();

-- A limit of a provider that cools, or of which nothing remains, is not available until then.
create or replace function provider_availability() returns table (
    resource_type text, available boolean, current_usage integer, limit_value integer, reset_time timestamptz)
language sql stable as $$
    -- Money in whole dollars, as the columns are integers.
    select format('provider:%s:%s', l.provider, l.name), u.used < l.most and w.until is null,
           least(case when l.of = 'cost' then u.used / 1000000 else u.used end, 2147483647)::integer,
           least(case when l.of = 'cost' then l.most / 1000000 else l.most end, 2147483647)::integer,
           greatest(case when u.used >= l.most then coalesce(l.since + l.span, u.first + l.span) end, w.until)
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
    left join lateral (
        select greatest(case when w.cooling_until > now() then w.cooling_until end,
                        case when w.quota_left = 0 and w.quota_until > now() then w.quota_until end) as until
        from provider_weather w where w.provider = l.provider) w on true
$$;
