-- As before this step.
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
drop function provider_availability(text);
drop function pause_availability, budget_availability, budget_stopped_until_below, budget_money, calendar_window, first_reached,
    known_zone, weather_gates, limit_use, provider_use, permit_ends, coarse_end, ends_that_matter, counts_until, sliding_step,
    provider_limits;
