-- How each endpoint's circuit breaker stands: an open one outlives the scheduler that opened it.
-- breaker_orders counts what was set by hand, so that a scheduler that does not know of it yet does not undo it.
alter table endpoints
    add column breaker          text not null default 'closed' check (breaker in ('closed', 'half_open', 'open')),
    add column breaker_since    timestamptz,
    add column breaker_until    timestamptz,
    add column breaker_openings integer not null default 0,
    add column breaker_detail   text,
    add column breaker_by       text,
    add column breaker_orders   integer not null default 0;

-- An endpoint is not available while it is held or its breaker is open.
create or replace function endpoint_availability() returns table (
    resource_type text, available boolean, current_usage integer, limit_value integer, reset_time timestamptz)
language sql stable as $$
    select 'endpoint:' || e.workflow_type, bool_or(stopped.until is null), count(stopped.until)::integer, count(*)::integer,
           nullif(min(stopped.until), 'infinity')
    from endpoints e cross join lateral (
        select greatest(case when e.held_until > now() then e.held_until end,
                        case when e.breaker = 'open' and coalesce(e.breaker_until, 'infinity') > now()
                             then coalesce(e.breaker_until, 'infinity') end) as until) stopped
    where e.organization_id = 'default' group by e.workflow_type
$$;
