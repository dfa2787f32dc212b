-- The latest first.
select @timer_columns@ from timers
where organization_id = $1 and state = $5 and ended_at is not null and (ended_at, timer_id) < ($2::timestamptz, $3::uuid)
order by ended_at desc, timer_id desc limit $4
