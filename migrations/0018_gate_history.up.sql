-- The history of the lanes' gates, compressed by run length: one row is a gate of a lane that closed, however often it
-- opened for less than a second between. What changes meanwhile are its numbers.
alter table lane_gates
    -- When it closed last; `since` is when it first did.
    add column closed_since timestamptz not null default now(),
    -- When a turn last found it closed.
    add column seen_at      timestamptz not null default now(),
    -- As they were at the last; `numbers` is as they were at the first. '{}' where an older hub wrote the row.
    add column numbers_last json not null default '{}',
    -- How often it closed, how many turns found it closed, and how long it was closed the times that are over.
    add column times        integer not null default 1 check (times > 0),
    add column seen         bigint  not null default 1 check (seen > 0),
    add column closed_us    bigint  not null default 0 check (closed_us >= 0);
update lane_gates set closed_since = since, seen_at = coalesce(ended_at, now()),
    closed_us = greatest(coalesce(round(extract(epoch from ended_at - since) * 1000000), 0), 0);
create index lane_gates_ended on lane_gates (ended_at) where ended_at is not null;

-- How many ready rows of a lane go before one with this score and place (starving: before one that has waited so long), at
-- most p_most: as in ready_executions, those beyond max_wait first, oldest first, then the score. Within a level the order is
-- created_at, so a bound of it says which rows of a level go before by more points, and which at least tie: nothing is
-- computed row by row, each level is read only as far as it goes before, and all of it stops at p_most.
create function executions_before(p_organization_id text, p_workflow_type text, p_priority integer, p_created_at timestamptz,
    p_execution_id uuid, p_starving boolean, p_ready_at timestamptz, p_now timestamptz, p_most integer) returns bigint
language sql stable as $$
    with recursive
    lane as materialized (
        select p_now - make_interval(secs => coalesce((select max_wait_seconds from workflow_types
                           where organization_id = p_organization_id and name = p_workflow_type), 14400)) as before,
               execution_score(p_priority, p_created_at, p_now) as score),
    level as (
        (select e.priority from executions e
         where e.ready and e.organization_id = p_organization_id and e.workflow_type = p_workflow_type
         order by e.priority desc limit 1)
        union all
        select n.priority from level cross join lateral (
            select e.priority from executions e
            where e.ready and e.organization_id = p_organization_id and e.workflow_type = p_workflow_type
              and e.priority < level.priority
            order by e.priority desc limit 1) n),
    bound as materialized (
        select v.priority, l.before, execution_score_cutoff(v.priority, l.score + 1, p_now) as more,
               execution_score_cutoff(v.priority, l.score, p_now) as tie
        from level v, lane l where not p_starving)
    select count(*) from (
        (select 1 from lane l cross join lateral (
             select 1 from executions e
             where e.ready and e.organization_id = p_organization_id and e.workflow_type = p_workflow_type and e.ready_at < l.before
               and (not p_starving or (e.ready_at, e.execution_id) < (p_ready_at, p_execution_id))
             order by e.ready_at, e.execution_id limit p_most) s)
        union all
        (select 1 from bound b cross join lateral (
             select 1 from executions e
             where e.ready and e.organization_id = p_organization_id and e.workflow_type = p_workflow_type
               and e.priority = b.priority and e.created_at <= b.tie and e.ready_at >= b.before
               and (e.created_at <= b.more or (e.created_at, e.execution_id) < (p_created_at, p_execution_id))
             order by e.created_at, e.execution_id limit p_most) s)
        limit p_most) c
$$;
