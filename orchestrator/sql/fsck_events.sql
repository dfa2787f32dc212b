-- P8. The numbers of a stream have no gaps, none comes twice, and the row knows the last.
-- plan: for its parameters
with streams as (
    select stream_id, count(*) as count, count(distinct seq) as numbers, min(seq) as first, max(seq) as last,
           min(event_id) as event_id
    from events where kind = 'execution' group by 1
), found as (
    select e.organization_id, e.workflow_type, 'execution ' || e.execution_id as subject,
           format('is at event %s and has %s, from %s to %s', e.last_seq, coalesce(s.count, 0), coalesce(s.first, 0),
                  coalesce(s.last, 0)) ||
               case when s.event_id <= e.events_after
                    then format(', of which one has the number %s and none is looked for before %s', s.event_id, e.events_after + 1)
                    else '' end as what
    from executions e left join streams s on s.stream_id = e.execution_id
    where (e.last_seq, e.last_seq, e.last_seq, least(e.last_seq, 1))
          is distinct from (coalesce(s.count, 0)::int, coalesce(s.numbers, 0)::int, coalesce(s.last, 0), coalesce(s.first, 0))
       or s.event_id <= e.events_after
)
@fsck_findings@
