-- P4. What an execution cost is what its closed attempts cost, and what is booked as used by them. A line of usage is named
-- after its attempt; what somebody records by SQL beside them is not theirs.
-- plan: for its parameters
with costs as (
    select execution_id, sum(cost_microusd) as cost from attempts group by 1
), used as (
    select u.execution_id, sum(u.cost_usd * 1000000) as cost
    from workflow_resource_usage u
    where exists (select from attempts a where a.execution_id = u.execution_id
                  and a.attempt_id::text = split_part(u.usage_id, '/', 1))
    group by 1
), found as (
    select e.organization_id, e.workflow_type, 'execution ' || e.execution_id as subject,
           format('costs %s USD, its attempts %s, and %s is booked as used', round(coalesce(e.cost_microusd, 0) / 1000000.0, 6),
                  round(coalesce(c.cost, 0) / 1000000, 6), round(coalesce(u.cost, 0) / 1000000, 6)) as what
    from executions e left join costs c using (execution_id) left join used u using (execution_id)
    where coalesce(e.cost_microusd, 0) <> coalesce(c.cost, 0) or coalesce(e.cost_microusd, 0) <> coalesce(u.cost, 0)
)
@fsck_findings@
