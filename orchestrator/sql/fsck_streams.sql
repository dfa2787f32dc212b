-- P8. The same for the streams of lanes, budgets, providers, nodes, subscribers, timers and alerts, as long as the row is there that counts
-- them. Where events have gone after their time, what is left of a stream begins after them.
-- plan: for its parameters
with counted as (
    select organization_id, name as workflow_type, 'lane ' || name as subject, lane_id as stream_id, last_seq from workflow_types
    union all
    select null, null, 'budget ' || name, budget_id, last_seq from budgets
    union all
    select null, null, 'provider ' || provider, stream_id, last_seq from provider_weather
    union all
    select s.organization_id, null, 'subscriber ' || s.name, subscriber_id, t.last_seq
    from subscribers s join subscriber_states t using (subscriber_id) where s.deleted_at is null
    union all
    select organization_id, null, 'timer ' || name, timer_id, last_seq from timers
    union all
    select organization_id, null, 'alert ' || fingerprint, alert_id, last_seq from alerts
    union all
    select null, null, 'node ' || name || ' ' || node, node, last_seq from nodes
), streams as (
    select stream_id, count(*) as count, count(distinct seq) as numbers, min(seq) as first, max(seq) as last
    from events where kind <> 'execution' group by 1
), found as (
    select c.organization_id, c.workflow_type, c.subject,
           format('is at event %s and has %s, from %s to %s', c.last_seq, coalesce(s.count, 0), coalesce(s.first, 0),
                  coalesce(s.last, 0)) || coalesce(', those up to ' || f.seq || ' gone', '') as what
    from counted c left join streams s using (stream_id) left join forgotten_events f using (stream_id)
    where c.last_seq <> coalesce(s.last, f.seq, 0) or s.count <> s.last - s.first + 1 or s.numbers <> s.count
       or s.first <> f.seq + 1
       -- Before that was written down, they went all the same.
       or (f.seq is null and s.first > 1 and (select events_until from retention) = 0)
)
@fsck_findings@
