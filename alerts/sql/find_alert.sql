-- By its fingerprint: the one that fires, or else the one that resolved last. Two: it is not clear which is meant.
select * from (
    select distinct on (fingerprint) @alert_columns@ from alerts
    where ($1 = '' or organization_id = $1) and fingerprint like $2 || '%' and phase <> 'pending'
    order by fingerprint, phase = 'resolved', ends_at desc nulls first) as each
limit 2
