-- $1: of one organization; null: of all.
select summary from alerts
where phase in ('firing', 'clearing') and labels ->> 'severity' = 'critical' and ($1::text is null or organization_id = $1)
order by since, alert_id limit 5
