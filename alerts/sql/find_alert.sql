-- By its fingerprint: the one that fires, or else the one that resolved last.
select @alert_columns@ from alerts where ($1 = '' or organization_id = $1) and fingerprint like $2 || '%' and phase <> 'pending'
order by phase = 'resolved', ends_at desc nulls first limit 2
