-- The limits of providers as check_resource_availability shows them. What is used is counted from the grants: the hub, which
-- counts from the end of each request, may be a little stricter. A token bucket is shown as a window of its refill.
create or replace function provider_availability() returns table (
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
drop table provider_weather;
