-- What the checks of health look at, as far as one row says it. $1: of one organization; null: of all.
select coalesce((select extract(epoch from clock_timestamp() - renewed_at) from scheduler), 0)::double precision,
       (select count(*) from endpoints where $1::text is null or organization_id = $1),
       (select count(*) from endpoints where breaker <> 'closed' and ($1::text is null or organization_id = $1)),
       (select count(*) from (select from executions where ready and ($1::text is null or organization_id = $1) limit 100000) w),
       (select count(*) from executions where timeout_at is not null and ($1::text is null or organization_id = $1)),
       (select count(distinct name) from nodes n
        where lease_until < clock_timestamp()
          and not exists (select from nodes again where again.name = n.name and again.lease_until >= clock_timestamp())),
       clock_timestamp()
