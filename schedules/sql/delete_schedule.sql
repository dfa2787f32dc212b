delete from schedules where organization_id = $1 and name = $2
