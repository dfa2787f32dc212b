-- The trigger tells every node that schedules are to be read again.
update schedules set updated_at = updated_at where schedule_id = $1
