-- S04. No more tries than its policy gives. What somebody has changed meanwhile may have had more before.
-- plan: for its parameters
with found as (
    select e.organization_id, e.workflow_type, 'execution ' || e.execution_id as subject,
           format('is %s after %s failures, and may be tried again %s times', e.status, e.retry_count, e.max_retries) as what
    from executions e
    where e.retry_count > e.max_retries and e.status not in ('completed', 'failed', 'cancelled', 'dead')
      and not exists (select from events v where v.stream_id = e.execution_id and v.event_id > e.events_after and v.type = 'execution.updated')
)
@fsck_findings@
