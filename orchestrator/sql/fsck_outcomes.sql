-- P3. One outcome for each opening that has ended, and the status is the last.
-- plan: for its parameters
with outcomes as (
    select stream_id, count(*) as count, (array_agg(type order by seq desc))[1] as last
    from events
    where kind = 'execution'
      and type in ('execution.completed', 'execution.failed', 'execution.cancelled', 'execution.dead')
    group by 1
), found as (
    select e.organization_id, e.workflow_type, 'execution ' || e.execution_id as subject,
           format('is %s in its opening %s, and its events tell of %s outcomes, the last %s',
                  e.status, e.opening, coalesce(o.count, 0), coalesce(o.last, 'none')) as what
    from executions e left join outcomes o on o.stream_id = e.execution_id
    where case when e.status in ('completed', 'failed', 'cancelled', 'dead')
               then coalesce(o.count, 0) <> e.opening or o.last is distinct from 'execution.' || e.status
               else coalesce(o.count, 0) <> e.opening - 1 end
)
@fsck_findings@
