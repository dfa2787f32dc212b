-- What is ready to start and waits; of more than 100,000 so many. $1: of one organization; null: of all.
select organization_id, workflow_type, count(*)
from (select organization_id, workflow_type from executions
      where ready and ($1::text is null or organization_id = $1) limit 100000) as waiting
group by 1, 2 order by 3 desc limit 200
