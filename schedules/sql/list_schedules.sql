select @schedule_columns@ from schedules s join schedule_states t using (schedule_id)
where $1 = '' or s.organization_id = $1 order by s.organization_id, s.name
