-- Whether leadership is to be had, without a lock: asked every second by every node that does not lead.
select @scheduler_columns@ from scheduler s
