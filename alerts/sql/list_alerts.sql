-- What fires first, then what has resolved; the latest first.
select @alert_columns@ from alerts
where ($1 = '' or organization_id = $1) and (phase in ('firing', 'clearing') or ($2 and phase = 'resolved') or ($3 and phase = 'pending'))
order by phase = 'resolved', coalesce(ends_at, since) desc, alert_id limit $4
