-- Those that were counted; the others are counted next. Rounded up as closed permits are.
select organization_id, workflow_type, provider, sum(over_calls)::bigint, sum(over_tokens)::bigint, 0::bigint,
       sum(over_cost_microusd)::bigint,
       case when at > now() - interval '5 minutes' then date_bin('100 milliseconds', at, 'epoch') + interval '100 milliseconds'
            when at > now() - interval '2 hours' then date_bin('10 seconds', at, 'epoch') + interval '10 seconds'
            else date_bin('5 minutes', at, 'epoch') + interval '5 minutes' end as ended, limit_keys
from usage_charges
where over_calls + over_tokens + over_cost_microusd > 0 and at > now() - interval '25 hours'
group by organization_id, workflow_type, provider, limit_keys, ended
order by ended
