-- plan: for its parameters
select @numbered_event_columns@ from events e
@with_workflow_types@
where e.event_id = any($1::bigint[]) order by e.event_id
