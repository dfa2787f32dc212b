create or replace function endpoint_availability() returns table (
    resource_type text, available boolean, current_usage integer, limit_value integer, reset_time timestamptz)
language sql stable as $$
    select 'endpoint:' || e.workflow_type, bool_or(e.held_until is null or e.held_until <= now()),
           count(*) filter (where e.held_until > now())::integer, count(*)::integer, min(e.held_until) filter (where e.held_until > now())
    from endpoints e where e.organization_id = 'default' group by e.workflow_type
$$;

alter table endpoints
    drop column breaker_orders, drop column breaker_by, drop column breaker_detail, drop column breaker_openings,
    drop column breaker_until, drop column breaker_since, drop column breaker;
