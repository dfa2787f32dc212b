-- The latest of each.
select distinct on (fingerprint) @alert_columns@ from alerts
where fingerprint = any($1::text[]) and phase = 'resolved' order by fingerprint, ends_at desc
