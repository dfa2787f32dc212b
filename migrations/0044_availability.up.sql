-- check_resource_availability tells of limits of every scope, counted as the hub counts them (protocol R19,
-- resource_manager/meter.h), of how providers do, of budgets and pauses. Where the tables know less than the scheduler's
-- memory it is a little stricter than the hub.

-- Limits of providers as resource_manager/provider_json.cc reads them. Money is in micro-dollars. `capacity` is the most
-- that is given at once, `rate` what comes back in each `span`; `window_start` is of a fixed window.
create function provider_limits() returns table (
    provider text, name text, measure text, kind text, scope text, capacity bigint, rate bigint, span interval, resets interval,
    window_start timestamptz)
language sql stable as $$
    select p.name, l ->> 'name', l ->> 'of', k.kind, coalesce(l ->> 'scope', 'global'),
           (coalesce(case when k.kind = 'token_bucket' then l ->> 'burst' end, l ->> 'limit')::numeric * k.unit)::bigint,
           ((l ->> 'limit')::numeric * k.unit)::bigint, k.span, k.resets,
           case when k.kind = 'fixed_window' then date_bin(k.span, now(), 'epoch'::timestamptz + k.resets) end
    from providers p
    cross join lateral jsonb_array_elements(p.limits) l
    cross join lateral (
        select coalesce(l ->> 'kind', 'sliding_window') as kind, case when l ->> 'of' = 'cost' then 1000000 else 1 end as unit,
               coalesce(l ->> 'reset_at', '00:00')::interval as resets,
               make_interval(secs => case l ->> 'per' when 'second' then 1 when 'minute' then 60 when 'hour' then 3600
                                                      when 'day' then 86400 else (l ->> 'per')::double precision end) as span) k
$$;

-- How much longer than its window a sliding one counts at most, in whole microseconds as in the hub.
create function sliding_step(p_span interval) returns interval language sql immutable parallel safe as $$
    select greatest(trunc(extract(epoch from p_span) * 1000000 / 256) * interval '1 microsecond', interval '1 millisecond')
$$;

-- Until when what ended then counts.
create function counts_until(p_kind text, p_span interval, p_resets interval, p_ended timestamptz) returns timestamptz
language sql stable parallel safe as $$
    select case p_kind
        when 'token_bucket' then p_ended
        when 'fixed_window' then date_bin(p_span, p_ended, 'epoch'::timestamptz + p_resets) + p_span
        else date_bin(sliding_step(p_span), p_ended, 'epoch'::timestamptz) + sliding_step(p_span) + p_span end
$$;

-- Granted when a start's end must be known exactly: lately, or shortly before a window or what a quota counts begins.
create function ends_that_matter() returns tstzmultirange language sql stable as $$
    select range_agg(r.span)
    from (select tstzrange(s.at - interval '30 minutes', s.at) as span
          from (select coalesce(window_start, now() - span) as at from provider_limits()
                where measure <> 'concurrency' and kind <> 'token_bucket'
                union all select quota_said from provider_weather where quota_until > now()) s
          union all select tstzrange(now() - interval '65 minutes', null)) r
$$;

-- When an end is counted as, rounded up as a new scheduler does it: the coarser, the longer ago.
create function coarse_end(p_at timestamptz) returns timestamptz language sql stable as $$
    select case
        when p_at > now() - interval '5 minutes' then date_bin('100 milliseconds', p_at, 'epoch') + interval '100 milliseconds'
        when p_at > now() - interval '2 hours' then date_bin('10 seconds', p_at, 'epoch') + interval '10 seconds'
        else date_bin('5 minutes', p_at, 'epoch') + interval '5 minutes' end
$$;

-- Permits that may count, and when their request ended: found as load_live_permits.sql and load_closed_permits.sql find it,
-- `infinity` while it is under way. To look for each of a day's would take too long: of those for which it does not matter
-- it is later than it can have been. Nobody sends after the lease, nor waits for an answer longer than two minutes
-- (configuration, webhooks.whole_deadline_ms); five more are what ends are rounded by.
create function permit_ends() returns table (
    organization_id text, workflow_type text, providers text[], calls bigint[], tokens bigint[], items bigint[],
    cost_microusd bigint[], granted_at timestamptz, running boolean, ended_at timestamptz)
language sql stable as $$
    with live as materialized (
        select execution_id, attempt_id, fence, attempt_state, accepted_at from executions where timeout_at is not null
    )
    select p.organization_id, p.workflow_type, p.providers, p.calls, p.tokens, p.items, p.cost_microusd, p.granted_at, true,
           case when e.attempt_state in ('granted', 'sending') then 'infinity'
                else coalesce((select d.at + d.duration_us * interval '1 microsecond' from deliveries d
                               where d.execution_id = p.execution_id and d.attempt_id = p.attempt_id and d.number = p.delivery),
                              e.accepted_at, p.lease_until) end
    from live e join permits p on p.attempt_id = e.attempt_id and p.fence = e.fence
    union all
    select p.organization_id, p.workflow_type, p.providers, p.calls, p.tokens, p.items, p.cost_microusd, p.granted_at, false,
           case when p.granted_at <@ m.granted
                then coalesce((select d.at + d.duration_us * interval '1 microsecond' from deliveries d
                               where d.execution_id = p.execution_id and d.attempt_id = p.attempt_id and d.number = p.delivery),
                              (select a.closed_at from attempts a
                               where a.execution_id = p.execution_id and a.attempt_id = p.attempt_id
                                 and a.outcome in ('completed', 'failed', 'partial', 'rejected')),
                              p.lease_until)
                else p.lease_until + interval '7 minutes' end
    from permits p cross join (select ends_that_matter() as granted offset 0) m
    where p.granted_at > now() - interval '25 hours'
      and not exists (select from live e
                      where e.execution_id = p.execution_id and e.attempt_id = p.attempt_id and e.fence = p.fence)
$$;

-- What was taken of providers, by when it ended. What is reported beyond what was granted counts from when it was said; until
-- the leading node has told what of it is beyond, all of it (load_usage_charges.sql).
create function provider_use() returns table (
    provider text, organization_id text, workflow_type text, ended_at timestamptz, running bigint, calls numeric,
    tokens numeric, items numeric, cost_microusd numeric)
language sql stable as $$
    -- By place in the arrays: to unnest each permit takes several times as long.
    select p.providers[n.place], p.organization_id, p.workflow_type, coarse_end(p.ended_at), count(*) filter (where p.running),
           sum(p.calls[n.place]), sum(p.tokens[n.place]), sum(p.items[n.place]), sum(p.cost_microusd[n.place])
    from permit_ends() p
    join unnest(array(select generate_series(1, (select max(cardinality(providers)) from permits)))) n(place)
        on n.place <= cardinality(p.providers)
    group by 1, 2, 3, 4
    union all
    select provider, organization_id, workflow_type, coarse_end(at), 0, sum(coalesce(over_calls, calls)),
           sum(coalesce(over_tokens, tokens)), 0, sum(coalesce(over_cost_microusd, cost_microusd))
    from usage_charges where at > now() - interval '25 hours' group by 1, 2, 3, 4
$$;

-- Each limit as an organization meets it, and what is used of it; of no organization only those for everybody together. A
-- limit by key is about all keys. `frees_at`: when one more fits, where none does and requests under way do not decide.
create function limit_use(p_organization_id text) returns table (
    resource_type text, provider text, measure text, used numeric, capacity bigint, frees_at timestamptz)
language sql stable as $$
    with use as materialized (
        select * from provider_use()
    ), applied as (
        select format('provider:%s:%s', l.provider, l.name) || coalesce(':' || t.name, '') as resource_type, l.*,
               t.name as workflow_type, extract(epoch from l.span) * 1000000 as span_us
        from provider_limits() l
        left join workflow_types t on l.scope = 'workflow_type' and t.organization_id = p_organization_id
                                  and t.call_estimates @> jsonb_build_array(jsonb_build_object('provider', l.provider))
        where l.scope = 'global' or (l.scope = 'organization' and p_organization_id is not null) or t.name is not null
    ), charged as (
        select a.resource_type, a.kind, a.rate, a.span_us, a.capacity, sum(n.amount) as amount, n.until
        from applied a
        join use u on u.provider = a.provider
                  and (a.scope = 'global' or u.organization_id = p_organization_id
                                             and (a.scope = 'organization' or u.workflow_type = a.workflow_type))
        cross join lateral (
            select case a.measure when 'requests' then u.calls when 'tokens' then u.tokens when 'items' then u.items
                                  when 'cost' then u.cost_microusd else u.running end as amount,
                   case when a.measure = 'concurrency' then 'infinity'
                        else counts_until(a.kind, a.span, a.resets, u.ended_at) end as until) n
        where n.amount > 0 and (a.kind = 'token_bucket' or n.until > now())
        group by 1, 2, 3, 4, 5, 7
    ), summed as (
        -- What is left once this one counts no longer, and, of a token bucket, what would have to be refilled if nothing had
        -- to be before it: the most of these is what has to be (in units of amount × span).
        select c.*, coalesce(sum(amount) over (partition by c.resource_type order by until desc
                                               groups between unbounded preceding and 1 preceding), 0) as later,
               case when c.kind = 'token_bucket' and until <= now()
                    then sum(amount) over (partition by c.resource_type, until <= now() order by until desc) * span_us
                         - extract(epoch from now() - until) * 1000000 * rate end as debt
        from charged c
    ), counted as (
        select resource_type, coalesce(sum(amount) filter (where until > now()), 0) as whole,
               coalesce(sum(amount) filter (where until = 'infinity'), 0) as under_way,
               greatest(max(debt), 0) as debt, min(until) filter (where later < capacity) as fits,
               max(until) filter (where until > now() and until < 'infinity') as last
        from summed group by 1
    )
    select a.resource_type, a.provider, a.measure, u.used, a.capacity,
           case when u.used < a.capacity or c.under_way >= a.capacity then null
                when a.kind <> 'token_bucket' then nullif(c.fits, 'infinity')
                -- What ends later is refilled from then on.
                else greatest(now() + ceil((c.debt + u.beyond * a.span_us) / a.rate)::bigint * interval '1 microsecond',
                              c.last + ceil(greatest(u.beyond, 0) * a.span_us / a.rate)::bigint * interval '1 microsecond')
           end
    from applied a left join counted c using (resource_type)
    cross join lateral (select coalesce(c.whole + ceil(c.debt / a.span_us), c.whole, 0) as used,
                               c.whole - (a.capacity - 1) as beyond) u
$$;

-- What a provider that has refused, or has said what is left, lets through now (resource_manager/limiter_weather.cc):
-- `opens_at` where it is closed and that is known. What the scheduler alone knows, how far it tries beyond what was learnt,
-- is left out.
create function weather_gates() returns table (
    provider text, closed boolean, cools_until timestamptz, used bigint, most bigint, opens_at timestamptz)
language sql stable as $$
    with known as (
        select w.*, w.learnt + coalesce(w.grows_at <= now(), false)::integer as allowed,
               coalesce((select min(l.span) from provider_limits() l
                         where l.provider = w.provider and l.measure = 'requests' and l.scope = 'global'),
                        interval '1 minute') as span
        from provider_weather w join providers p on p.name = w.provider
        where w.cooling_until is not null or w.learnt is not null or w.quota_until > now()
    ), starts as materialized (
        select k.provider, greatest(s.calls[i.at], 1) as requests, s.tokens[i.at] as tokens, s.granted_at, s.ended_at,
               counts_until('sliding_window', k.span, null, s.ended_at) as until
        from permit_ends() s
        join known k on k.provider = any(s.providers)
        cross join lateral (select array_position(s.providers, k.provider) as at) i
    ), counted as (
        select k.*, s.*
        from known k
        cross join lateral (
            select coalesce(sum(s.requests) filter (where s.ended_at = 'infinity'), 0)::bigint as under_way,
                   coalesce(sum(s.requests) filter (where s.until > now()), 0)::bigint as used,
                   -- Of the quota: whatever ended since it was said.
                   k.quota_left - coalesce(sum(case k.quota_of when 'tokens' then s.tokens else s.requests end)
                                           filter (where s.ended_at >= k.quota_said), 0)::bigint as left
            from starts s where s.provider = k.provider) s
    ), spread as (
        -- Evenly: each is due so long after the one before it, and may be early by as much, or a little.
        select c.*, (
            select max(t.due) from (
                select s.granted_at - greatest(g.gap, interval '250 milliseconds')
                       + sum(g.gap * s.requests) over (order by s.granted_at desc) as due
                from starts s
                cross join lateral (
                    select c.span * 0.98 / (c.learnt + coalesce(c.grows_at <= s.granted_at, false)::integer) as gap) g
                where s.provider = c.provider and s.granted_at > now() - 2 * c.span) t)
            - greatest(c.span * 0.98 / c.allowed, interval '250 milliseconds') as next_at
        from counted c
    ), judged as (
        select s.*, case when s.cooling_until > now() then s.cooling_until end as cooling,
               case when s.quota_until > now() and s.left <= 0 then s.quota_until end as spent,
               s.cooling_until <= now() and s.under_way > 0 as tried,
               s.used >= s.allowed as full_up
        from spread s
    )
    select j.provider, coalesce(j.cooling, j.spent) is not null or coalesce(j.tried, false) or coalesce(j.full_up, false)
                       or coalesce(j.next_at > now(), false),
           greatest(j.cooling, j.spent),
           case when q.tighter then j.quota_left - j.left else j.used end,
           case when q.tighter then j.quota_left else j.allowed end,
           greatest(j.cooling, j.spent, case when j.next_at > now() then j.next_at end, f.at)
    from judged j
    cross join lateral (
        select coalesce(j.quota_until > now(), false) and (j.allowed is null or j.left < j.allowed - j.used) as tighter) q
    left join lateral (
        select min(e.until) as at
        from (select s.until, coalesce(sum(s.requests) over (order by s.until desc
                                                              groups between unbounded preceding and 1 preceding), 0) as later
              from starts s where s.provider = j.provider) e
        where j.full_up and e.later < j.allowed and e.until > now() and e.until < 'infinity') f on true
$$;

-- Providers as an organization meets them: how each does that has refused or said what is left, and the limits of all. A limit
-- of a provider that cools, or of which nothing remains, is not available until then. Money is in whole dollars, as the columns
-- are integers.
create function provider_availability(p_organization_id text) returns table (
    resource_type text, available boolean, current_usage integer, limit_value integer, reset_time timestamptz)
language sql stable as $$
    with weather as materialized (
        select * from weather_gates()
    )
    select 'weather:' || provider, not closed, least(used, 2147483647)::integer, least(most, 2147483647)::integer, opens_at
    from weather
    union all
    select l.resource_type, l.used < l.capacity and w.cools_until is null,
           least(floor(l.used / m.unit), 2147483647)::integer, least(l.capacity / m.unit, 2147483647)::integer,
           greatest(l.frees_at, w.cools_until)
    from limit_use(p_organization_id) l
    cross join lateral (select case when l.measure = 'cost' then 1000000 else 1 end as unit) m
    left join weather w using (provider)
$$;

-- The same of limits that everybody shares.
create or replace function provider_availability() returns table (
    resource_type text, available boolean, current_usage integer, limit_value integer, reset_time timestamptz)
language sql stable set jit = off set work_mem = '64MB' as $$
    select * from provider_availability(null)
$$;

-- A zone that this server does not know counts as UTC, as it does for the hub.
create function known_zone(p_zone text) returns text language plpgsql stable as $$
begin
    perform now() at time zone p_zone;
    return p_zone;
exception when invalid_parameter_value then
    return 'UTC';
end $$;

-- When the clocks of a zone first reach a full hour; where they skip it, at the skip.
create function first_reached(p_local timestamp, p_zone text) returns timestamptz language sql stable as $$
    select min(t.at) from (select p_local at time zone p_zone as at) s
    cross join lateral (values (s.at), (s.at - interval '30 minutes'), (s.at - interval '1 hour')) t(at)
    where t.at = s.at or t.at at time zone p_zone = p_local
$$;

-- The window that a moment belongs to (resource_manager/budget_window.cc): from day to day, week to week, month to month as
-- the zone's clocks reach the hour.
create function calendar_window(p_unit text, p_zone text, p_hour integer, p_weekday integer, p_at timestamptz,
                                out window_start timestamptz, out window_end timestamptz)
language sql stable as $$
    select max(b.at) filter (where b.at <= p_at), min(b.at) filter (where b.at > p_at)
    from (select known_zone(p_zone) as name offset 0) z
    cross join lateral (
        select make_interval(days => case p_unit when 'week' then p_weekday - 1 else 0 end, hours => p_hour) as shift,
               case p_unit when 'month' then interval '1 month' when 'week' then interval '7 days'
                           else interval '1 day' end as step) u
    cross join lateral (select date_trunc(p_unit, (p_at at time zone z.name) - u.shift) as local) l
    cross join generate_series(-1, 2) n
    cross join lateral (select first_reached(l.local + n * u.step + u.shift, z.name) as at) b
$$;

-- What counts of a budget now (resource_manager/budget_state.cc, counted): money and until when it does.
create function budget_money(p_budget budgets, p_start timestamptz, p_end timestamptz)
returns table (amount numeric, until timestamptz)
language sql stable as $$
    select a.settled + a.reserved + a.suspense,
           case p_budget.window_unit when 'rolling' then a.window_end + make_interval(hours => p_budget.window_hours)
                                     else p_end end
    from budget_balances a
    where a.budget_id = p_budget.budget_id
      and case p_budget.window_unit
          when 'batch' then true
          when 'rolling' then a.window_end + make_interval(hours => p_budget.window_hours) > now()
          else (a.window_start >= p_start and a.window_start < p_end) or (a.window_end > p_start and a.window_end <= p_end) end
$$;

-- Below which sum the first of its steps that stops ordinary work ends; null: none of those that are on does. Which are on is
-- reckoned as the next turn of the hub will.
create function budget_stopped_until_below(p_budget budgets, p_counted numeric, p_start timestamptz, p_end timestamptz)
returns numeric language sql stable as $$
    with step as (
        select s.number, s.step ->> 'action' as action, s.step,
               p_counted * 100 >= p_budget.limit_microusd * m.at_percent as reached,
               p_counted * 100 >= p_budget.limit_microusd * m.undone_below as kept,
               ceil(p_budget.limit_microusd * m.undone_below / 100) as ends_below
        from jsonb_array_elements(p_budget.steps) with ordinality as s(step, number)
        cross join lateral (select (s.step ->> 'at_percent')::numeric as at_percent,
                                   coalesce((s.step ->> 'undone_below_percent')::numeric,
                                            greatest((s.step ->> 'at_percent')::numeric - 5, 1)) as undone_below) m
    ), still as (
        -- All end when the window turns.
        select coalesce(max(number) filter (where kept), 0) as number from step
        where number <= p_budget.steps_on
          and (p_budget.window_unit in ('rolling', 'batch')
               or (p_budget.steps_window_start, p_budget.steps_window_end) is not distinct from (p_start, p_end))
    ), begun as (
        select coalesce(min(s.number) - 1, 9999) as number from step s, still where s.number > still.number and not s.reached
    )
    select min(s.ends_below) from step s, begun
    where s.number <= begun.number
      and case
          when s.action in ('alert', 'defer_low_priority', 'smaller_batches', 'cheaper_variant') then false
          when s.action = 'ask_human' then coalesce(p_budget.approved_until <= now(), true)
          -- By the clocks of its zone the hour that begins them was later than the one that ends them.
          when s.action = 'off_peak_hours' then (select f.window_start <= t.window_start
              from calendar_window('day', p_budget.time_zone, coalesce((s.step ->> 'from_hour')::integer, 22), 1, now()) f,
                   calendar_window('day', p_budget.time_zone, coalesce((s.step ->> 'to_hour')::integer, 6), 1, now()) t)
          else true end
$$;

-- Budgets of an organization, and of all together, as work that is not critical meets them. In whole dollars; reset_time is
-- when the window turns, of rolling hours when it opens, if it is closed.
create function budget_availability(p_organization_id text) returns table (
    resource_type text, available boolean, current_usage integer, limit_value integer, reset_time timestamptz)
language sql stable as $$
    select 'budget:' || b.name, r.room is null, least(floor(c.counted / 1000000), 2147483647)::integer,
           least(b.limit_microusd / 1000000, 2147483647)::integer,
           case b.window_unit when 'batch' then null
               when 'rolling' then (
                   select min(m.until) from (
                       select until, coalesce(sum(amount) over (order by until desc
                                                                groups between unbounded preceding and 1 preceding), 0) as later
                       from budget_money(b, w.window_start, w.window_end)) m
                   where m.later < r.room)
               else w.window_end end
    from budgets b
    -- Of rolling hours and of a batch nobody asks for it.
    cross join lateral calendar_window(case when b.window_unit in ('week', 'month') then b.window_unit else 'day' end,
                                       b.time_zone, b.reset_hour, b.first_weekday, now()) w
    cross join lateral (
        select coalesce(sum(amount), 0) as counted from budget_money(b, w.window_start, w.window_end)) c
    -- Once less than that counts it is open; null: it is.
    cross join lateral (
        select least(case when b.hard and c.counted >= b.limit_microusd then b.limit_microusd end,
                     budget_stopped_until_below(b, c.counted, w.window_start, w.window_end)) as room) r
    where b.retired_at is null and (b.scope_organization is null or b.scope_organization = p_organization_id)
$$;

-- What is stopped by hand: everything, an organization, a type, or whatever of it calls a provider; and types that are
-- switched off.
create function pause_availability(p_organization_id text) returns table (
    resource_type text, available boolean, current_usage integer, limit_value integer, reset_time timestamptz)
language sql stable as $$
    select 'pause:' || s.subject, false, null::integer, null::integer, s.until_at
    from (select case when organization_id = '' then 'everything' when workflow_type = '' then organization_id
                      else workflow_type end as subject, until_at
          from pauses where organization_id in ('', p_organization_id)
          union all
          select provider, until_at from provider_pauses where organization_id in ('', p_organization_id)
          union all
          select name, null from workflow_types where organization_id = p_organization_id and not enabled) s
    where s.until_at is null or s.until_at > now()
$$;

-- 003: check_resource_availability. It plans more than it runs: compiling it would take longer than all of it.
create or replace function check_resource_availability() returns table (
    resource_type text, available boolean, current_usage integer, limit_value integer, reset_time timestamptz)
language sql stable set jit = off set work_mem = '64MB' as $$
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
    select * from provider_availability('default')
    union all
    select * from budget_availability('default')
    union all
    select * from pause_availability('default')
$$;
