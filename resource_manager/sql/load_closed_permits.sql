-- Of all others the sums, by when the request ended: that is recorded with the delivery. Where its answer was not heard,
-- the peer's own word says that it was there; without one nobody has sent it after the lease (protocol R5). Rounded up,
-- the coarser the longer ago. By keys only as long as a limit with a key may count them: there may be many.
with keyed as (
    select p.name, max(case l ->> 'per' when 'second' then interval '1 second' when 'minute' then interval '1 minute'
                           when 'hour' then interval '1 hour' when 'day' then interval '1 day'
                           else make_interval(secs => (l ->> 'per')::double precision) end) as span
    from providers p cross join lateral jsonb_array_elements(p.limits) l
    where l ? 'key' group by p.name
)
select organization_id, workflow_type, provider, sum(calls)::bigint, sum(tokens)::bigint, sum(items)::bigint,
       sum(cost_microusd)::bigint,
       case when ended_at > now() - interval '5 minutes' then date_bin('100 milliseconds', ended_at, 'epoch') + interval '100 milliseconds'
            when ended_at > now() - interval '2 hours' then date_bin('10 seconds', ended_at, 'epoch') + interval '10 seconds'
            else date_bin('5 minutes', ended_at, 'epoch') + interval '5 minutes' end as ended,
       case when ended_at > now() - span - interval '5 minutes' then limit_keys end as keys
from (select p.*, coalesce(d.at + d.duration_us * interval '1 microsecond',
                          case when a.outcome in ('completed', 'failed', 'partial', 'rejected') then a.closed_at end,
                          p.lease_until) as ended_at
      from provider_permits p
      left join executions e on e.execution_id = p.execution_id and e.attempt_id = p.attempt_id and e.fence = p.fence
                            and e.timeout_at is not null
      left join deliveries d on d.execution_id = p.execution_id and d.attempt_id = p.attempt_id and d.number = p.delivery
      left join attempts a on a.execution_id = p.execution_id and a.attempt_id = p.attempt_id
      where p.granted_at > now() - interval '25 hours' and e.execution_id is null) permit
left join keyed on keyed.name = permit.provider
group by organization_id, workflow_type, provider, keys, ended
order by ended
