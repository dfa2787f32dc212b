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
    select 'endpoint:' || e.workflow_type, bool_or(e.held_until is null or e.held_until <= now()),
           count(*) filter (where e.held_until > now())::integer, count(*)::integer, min(e.held_until) filter (where e.held_until > now())
    from endpoints e where e.organization_id = 'default' group by e.workflow_type
$$;

drop function endpoint_availability();
drop function provider_availability();
drop table provider_permits;
drop table provider_versions;
drop table providers;
