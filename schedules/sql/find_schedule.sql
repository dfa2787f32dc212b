select @schedule_columns@ from schedules s join schedule_states t using (schedule_id)
where s.organization_id = $1 and s.name = $2
