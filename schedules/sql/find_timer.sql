select @timer_columns@ from timers where organization_id = $1 and name = $2
