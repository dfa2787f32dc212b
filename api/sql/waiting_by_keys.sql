-- How many of a lane wait with the same keys, the commonest first; of a very deep queue some.
select keys, count(*)
from (select coalesce(limit_keys, '') as keys from executions
      where ready and organization_id = $1 and workflow_type = $2 limit 200000) as waiting
group by keys order by count(*) desc, keys limit 1000
