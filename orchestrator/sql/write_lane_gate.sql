-- A closing of a lane's gate, or what there is to say of it since: it lengthens the run that is closed, or that ended less
-- than a second before it, and begins one where there is none. One that was told of late does not end a later one.
with before as (
    (select since from lane_gates
     where organization_id = $1 and workflow_type = $2 and gate = $3 and subject = $4 and ended_at is null)
    union all
    (select since from lane_gates
     where organization_id = $1 and workflow_type = $2 and gate = $3 and subject = $4
       and ended_at >= $9::timestamptz - interval '1 second')
    order by since desc limit 1),
longer as (
    update lane_gates g set detail = $5, numbers_last = $7::json, opens_at = $8, closed_since = greatest(closed_since, $10),
        ended_at = case when closed_since > $10 then ended_at else $11 end, seen_at = greatest(seen_at, $12),
        times = times + $13, seen = seen + $14, closed_us = closed_us + $15
    from before
    where g.organization_id = $1 and g.workflow_type = $2 and g.gate = $3 and g.subject = $4 and g.since = before.since
    returning 1)
insert into lane_gates (organization_id, workflow_type, gate, subject, detail, numbers, numbers_last, opens_at, since, closed_since,
                        ended_at, seen_at, times, seen, closed_us)
select $1, $2, $3, $4, $5, $6::json, $7::json, $8, $9, $10, $11, $12, greatest($13::integer, 1), greatest($14::bigint, 1), $15
where not exists (select from longer)
