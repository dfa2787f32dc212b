-- What is under way and of which nothing has been heard since. $1: of one organization; null: of all. $2 seconds.
select e.execution_id, coalesce(v.at, e.updated_at), coalesce(n.lease_until > clock_timestamp(), false), coalesce(n.name, e.attempt_node::text),
       p.url, p.status_url is not null,
       case when p.breaker = 'open' then 'its breaker is open' || coalesce(': ' || p.breaker_detail, '')
            when p.held_until > clock_timestamp() then coalesce(p.held_detail, p.held_reason) end,
       case when p.breaker = 'open' then p.breaker_until else p.held_until end
from executions e
left join events v on v.stream_id = e.execution_id and v.seq = e.last_seq and v.event_id > e.events_after
left join nodes n on n.node = e.attempt_node
left join endpoints p on p.endpoint_id = e.endpoint_id
where e.timeout_at is not null and ($1::text is null or e.organization_id = $1)
  and e.updated_at < clock_timestamp() - make_interval(secs => $2)
  and coalesce(v.at, e.updated_at) < clock_timestamp() - make_interval(secs => $2)
order by 2, 1 limit $3
