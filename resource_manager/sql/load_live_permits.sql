-- Of each attempt that holds a slot; without a time while its request is under way.
select p.organization_id, p.workflow_type, p.provider, p.calls, p.tokens, p.items, p.cost_microusd,
       case when e.attempt_state not in ('granted', 'sending')
            then coalesce(d.at + d.duration_us * interval '1 microsecond', e.accepted_at, p.lease_until) end, p.limit_keys,
       p.execution_id, p.attempt_id, p.fence, p.lease_until
from executions e
join provider_permits p on p.attempt_id = e.attempt_id and p.fence = e.fence
left join deliveries d on d.execution_id = p.execution_id and d.attempt_id = p.attempt_id and d.number = p.delivery
where e.timeout_at is not null
