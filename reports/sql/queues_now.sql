-- What is ready to start and waits. $1: of one organization; null: of all.
select organization_id, workflow_type, count(*) from executions
where ready and ($1::text is null or organization_id = $1) group by 1, 2 order by 3 desc limit 200
