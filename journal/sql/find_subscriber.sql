select @subscriber_columns@ from subscribers s join subscriber_states t using (subscriber_id)
where s.organization_id = $1 and s.name = $2 and s.deleted_at is null
