select @timer_columns@ from put_timer($1, $2, $3, $4, $5, $6)
