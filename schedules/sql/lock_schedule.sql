-- Nothing where somebody else has done something about it since it was read.
select true from schedule_states t join schedules s using (schedule_id)
where t.schedule_id = $1 and t.moves = $2 and s.version = $3 for update of t
