-- plan: for its parameters
-- With the workflow type that an execution or a lane is of, which readers choose by. A page is so many numbers: that bounds
-- what is read whatever the planner believes of a table that has just grown.
select @numbered_event_columns@ from events e
@with_workflow_types@
where e.event_id > $1 and e.event_id <= $2 order by e.event_id
