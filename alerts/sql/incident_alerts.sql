-- Of the alerts that any message about it named, each as it stood last. By the beginning of its id.
select distinct on (a.fingerprint) @alert_columns@ from alerts a
where ($1 = '' or a.organization_id = $1)
  and a.fingerprint in (select unnest(n.firing || n.resolved) from notifications n where n.incident like $2 || '%' limit 1000)
order by a.fingerprint, a.phase = 'resolved', a.ends_at desc nulls first limit 1000
