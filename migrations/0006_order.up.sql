-- The score and the order of the queue in SQL: for the functions of 003, for start-up and for safety scans.
-- Integers throughout, so that C++ (priority_queue/score.h) and SQL tie alike (protocol R16).

-- One point is 60,000,000, so an age in microseconds is its own score:
-- priority × 10 + min(age_minutes, 120) + 50 once older than 30 minutes.
create function execution_score(p_priority integer, p_created_at timestamptz, p_now timestamptz) returns bigint
language sql immutable parallel safe as $$
    select p_priority * 600000000::bigint
         + least(round(date_part('epoch', p_now - p_created_at) * 1000000)::bigint, 7200000000)
         + case when p_now - p_created_at > interval '30 minutes' then 3000000000 else 0 end
$$;

-- The youngest created_at with which a row of this priority still reaches `p_score`: its inverse.
create function execution_score_cutoff(p_priority integer, p_score bigint, p_now timestamptz) returns timestamptz
language sql immutable parallel safe as $$
    select case
        when x <= -1000000000000000 then 'infinity'::timestamptz
        when x <= 1800000000  then p_now - x * interval '1 microsecond'
        when x <= 4800000000  then p_now - interval '30 minutes' - interval '1 microsecond'
        when x <= 10200000000 then p_now - (x - 3000000000) * interval '1 microsecond'
        else '-infinity'::timestamptz end
    from (select p_score - p_priority * 600000000::bigint as x) s
$$;

-- The first p_limit of a lane's ready rows in the hub's order: those beyond max_wait, oldest first, then the score.
-- Its cost depends on the limit and on the number of priority levels, not on the depth of the queue: a loose index scan
-- finds each level's oldest row, a lower bound of the last score wanted says which levels can contribute and how far.
create function ready_executions(p_organization_id text, p_workflow_type text, p_limit integer, p_now timestamptz)
returns table (execution_id uuid, priority integer, created_at timestamptz, ready_at timestamptz, score bigint, starving boolean)
language plpgsql stable as $$
#variable_conflict use_column
declare
    v_before timestamptz := p_now - make_interval(secs => coalesce((select max_wait_seconds from workflow_types
                            where organization_id = p_organization_id and name = p_workflow_type), 14400));
    v_starving integer;
begin
    return query
        select e.execution_id, e.priority::integer, e.created_at, e.ready_at,
               execution_score(e.priority, e.created_at, p_now), true
        from executions e
        where e.ready and e.organization_id = p_organization_id and e.workflow_type = p_workflow_type
          and e.ready_at < v_before
        order by e.ready_at, e.execution_id limit p_limit;
    get diagnostics v_starving = row_count;
    if v_starving >= p_limit then return; end if;

    -- All that starve have been returned; as many more rows are read so that they can be passed over.
    return query
        with recursive level as (
            (select e.priority, e.created_at from executions e
             where e.ready and e.organization_id = p_organization_id and e.workflow_type = p_workflow_type
             order by e.priority desc, e.created_at limit 1)
            union all
            select n.priority, n.created_at from level cross join lateral (
                select e.priority, e.created_at from executions e
                where e.ready and e.organization_id = p_organization_id and e.workflow_type = p_workflow_type
                  and e.priority < level.priority
                order by e.priority desc, e.created_at limit 1) n),
        head as materialized (
            select l.priority, execution_score(l.priority, l.created_at, p_now) as score from level l order by 2 desc),
        seed as materialized (
            select execution_score(h.priority, r.created_at, p_now) as score
            from head h cross join lateral (
                select e.created_at from executions e
                where e.ready and e.organization_id = p_organization_id and e.workflow_type = p_workflow_type
                  and e.priority = h.priority
                order by e.created_at limit p_limit + v_starving) r
            limit p_limit + v_starving),
        bound as materialized (
            select greatest((select h.score from head h order by h.score desc offset p_limit + v_starving - 1 limit 1),
                            (select case when count(*) >= p_limit + v_starving then min(s.score) end from seed s),
                            -9000000000000000000) as score),
        need as materialized (
            select h.priority, execution_score_cutoff(h.priority, b.score, p_now) as cutoff
            from head h, bound b where h.score >= b.score)
        select c.execution_id, c.priority::integer, c.created_at, c.ready_at,
               execution_score(c.priority, c.created_at, p_now) as score, false
        from need cross join lateral (
            select e.execution_id, e.priority, e.created_at, e.ready_at from executions e
            where e.ready and e.organization_id = p_organization_id and e.workflow_type = p_workflow_type
              and e.priority = need.priority and e.created_at <= need.cutoff
            order by e.created_at, e.execution_id limit p_limit + v_starving) c
        where c.ready_at >= v_before
        order by 5 desc, 3, 1 limit p_limit - v_starving;
end $$;
