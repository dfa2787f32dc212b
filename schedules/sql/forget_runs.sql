delete from schedule_runs where ctid = any(array(
    select ctid from schedule_runs where schedule_id = $1 and outcome <> 'waiting' and at < now() - interval '90 days'
    limit 1000))
