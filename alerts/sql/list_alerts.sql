select @alert_columns@ from alerts
where ($1 = '' or organization_id = $1) and ($2 = 'all' or case phase when 'clearing' then 'firing' else phase end = $2)
order by phase = 'resolved', coalesce(ends_at, since) desc, alert_id limit $3
