select @timer_columns@ from timers
where organization_id = $1 and state = 'waiting' and (due_at, timer_id) > ($2::timestamptz, $3::uuid)
order by due_at, timer_id limit $4
