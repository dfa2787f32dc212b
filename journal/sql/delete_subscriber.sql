delete from subscribers where organization_id = $1 and name = $2
