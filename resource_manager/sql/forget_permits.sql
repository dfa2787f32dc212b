delete from permits p
where p.granted_at < now() - interval '25 hours'
  and not exists (select from executions e where e.execution_id = p.execution_id and e.timeout_at is not null)
