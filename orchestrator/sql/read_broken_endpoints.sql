-- The first few, the longest broken first. $1: of one organization; null: of all.
select workflow_type, url, coalesce(breaker_detail, '') from endpoints
where breaker <> 'closed' and ($1::text is null or organization_id = $1)
order by breaker_since, endpoint_id limit 3
