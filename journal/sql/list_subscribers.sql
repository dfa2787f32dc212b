select @subscriber_columns@ from subscribers s join subscriber_states t using (subscriber_id)
where ($1 = '' or s.organization_id = $1) and s.deleted_at is null order by s.organization_id, s.name
