-- plan: for its parameters
-- What of a lane ended in [$3, $4): first what speaks loudest for the series $5.
select execution_id from executions
where completed_at >= $3 and completed_at < $4 and organization_id = $1 and workflow_type = $2
  and ($5 <> 'failed_percent' or status in ('failed', 'dead'))
order by case $5 when 'cost_usd' then cost_microusd when 'duration_seconds' then duration_ms end desc nulls last,
         completed_at desc
limit 20
