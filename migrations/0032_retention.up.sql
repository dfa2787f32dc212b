-- What has ended may go after a time. What it came to stays: counts, cost and durations by day, and how far events have gone.
create table execution_days (
    organization_id  text not null,
    workflow_type    text not null,
    -- UTC, by when they ended.
    day              date not null,
    status           text not null,
    executions       bigint not null,
    attempts         bigint not null,
    retries          bigint not null,
    items            bigint not null,
    cost_microusd    numeric not null,
    duration_ms      numeric not null,
    longest_ms       bigint not null,
    -- From being due to being started.
    wait_ms          numeric not null,
    primary key (organization_id, workflow_type, day, status)
);

-- One row: how it stands.
create table retention (
    one               boolean primary key default true check (one),
    -- Events up to this number may be gone.
    events_until      bigint not null default 0,
    executions        bigint not null default 0,
    events            bigint not null default 0,
    last_pass_at      timestamptz,
    last_pass_seconds double precision
);
insert into retention default values;

-- What there was, whether it is still here or not.
create view executions_by_day as
select organization_id, workflow_type, day, status, sum(executions) as executions, sum(attempts) as attempts,
       sum(retries) as retries, sum(items) as items, sum(cost_microusd) / 1000000.0 as cost_usd,
       sum(duration_ms) as duration_ms, max(longest_ms) as longest_ms, sum(wait_ms) as wait_ms
from (
    select organization_id, workflow_type, (completed_at at time zone 'UTC')::date as day, status, 1 as executions, attempts,
           retry_count as retries, coalesce(items_processed, 0) as items, coalesce(cost_microusd, 0) as cost_microusd,
           coalesce(duration_ms, 0) as duration_ms, coalesce(duration_ms, 0) as longest_ms,
           coalesce(greatest(extract(epoch from started_at - greatest(scheduled_at, created_at)) * 1000, 0), 0) as wait_ms
    from executions where completed_at is not null and status in ('completed', 'failed', 'cancelled', 'dead')
    union all
    select organization_id, workflow_type, day, status, executions, attempts, retries, items, cost_microusd, duration_ms,
           longest_ms, wait_ms
    from execution_days
) as each
group by organization_id, workflow_type, day, status;
