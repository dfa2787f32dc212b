select @timer_columns@ from end_timer($1, $2, $3, $4)
