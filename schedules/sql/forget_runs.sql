delete from schedule_runs where schedule_id = $1 and at < now() - interval '90 days' and outcome <> 'waiting'
