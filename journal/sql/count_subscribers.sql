select count(*) from subscribers where organization_id = $1 and deleted_at is null
