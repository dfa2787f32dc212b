-- Waits for what the leader has under way: each of its transactions holds this row FOR SHARE (protocol R2).
select @scheduler_columns@ from scheduler s for update
