select due_at from schedule_runs where schedule_id = $1 and outcome = 'waiting' order by due_at limit 1001
