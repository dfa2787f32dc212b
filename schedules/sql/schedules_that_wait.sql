select distinct schedule_id from schedule_runs where outcome = 'waiting'
