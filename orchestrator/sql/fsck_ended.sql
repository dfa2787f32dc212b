-- P3. What has ended holds nothing. Its children are let go by a transaction of their own where somebody holds one.
-- plan: for its parameters
with found as (
    select organization_id, workflow_type, 'execution ' || execution_id as subject,
           format('is %s and holds %s', status,
                  concat_ws(', ', case when ready then 'its place in the queue' end, 'a time: ' || due_at,
                            'an attempt: ' || attempt_id, 'a node: ' || attempt_node, 'a grant to ' || granted_to,
                            'a lease until ' || lease_until, 'a deadline: ' || timeout_at,
                            case when open_children > 0 then open_children || ' children' end)) as what
    from executions
    where status in ('completed', 'failed', 'cancelled', 'dead')
      and (ready or num_nonnulls(due_at, attempt_id, attempt_node, granted_to, lease_until, timeout_at) > 0
           or open_children <> 0 and updated_at < now() - interval '5 minutes')
)
@fsck_findings@
