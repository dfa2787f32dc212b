-- plan: for its parameters
-- What ended in [$1, $2), summed up by type and status, by ranges of how long it ran (what completed), and by ranges of
-- how long it waited (what started); each row is one of the three. Ranges are 5 % wide: reports/ended.h. $3: of one
-- organization; null: of all.
select organization_id, workflow_type, coalesce(status, ''), coalesce(ran, -1), coalesce(waited, -1), count(*),
       coalesce(sum(attempts), 0)::bigint, coalesce(sum(retry_count), 0)::bigint,
       least(coalesce(sum(items_processed), 0), 9223372036854775807)::bigint,
       least(coalesce(sum(cost_microusd), 0), 9223372036854775807)::bigint
from (
    select organization_id, workflow_type, status, attempts, retry_count, items_processed, cost_microusd,
           case when ran_ms is not null then ceil(ln(greatest(ran_ms, 1)) / ln(1.05::float8))::integer end as ran,
           case when waited_ms is not null then ceil(ln(greatest(waited_ms, 1)) / ln(1.05::float8))::integer end as waited
    from executions e cross join lateral (
        select case when status = 'completed' then coalesce(duration_ms, extract(epoch from completed_at - started_at) * 1000)::float8 end as ran_ms,
               (extract(epoch from started_at - case when scheduled_at > created_at then scheduled_at else created_at end) * 1000)::float8
                   as waited_ms
    ) as took
    where completed_at >= $1 and completed_at < $2 and ($3::text is null or organization_id = $3)
      and status in ('completed', 'failed', 'cancelled', 'dead')
) as ended
group by grouping sets ((organization_id, workflow_type, status), (organization_id, workflow_type, ran),
                        (organization_id, workflow_type, waited))
