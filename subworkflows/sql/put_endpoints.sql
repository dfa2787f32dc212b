-- Addresses that are still listed keep their id and what was learnt about them; holds and breakers that opened by
-- themselves are forgotten: whoever changes a definition wants it tried. A breaker tripped by hand stays so.
with listed as (
    select * from unnest($3::text[], $4::integer[], $5::text[], $6::integer[], $7::boolean[])
        as t(url, weight, status_url, max_in_flight, deduplicates)
), gone as (
    delete from endpoints where organization_id = $1 and workflow_type = $2 and url not in (select url from listed)
)
insert into endpoints (organization_id, workflow_type, url, weight, status_url, max_in_flight, deduplicates)
select $1, $2, url, weight, status_url, max_in_flight, deduplicates from listed
on conflict (organization_id, workflow_type, url) do update set weight = excluded.weight, status_url = excluded.status_url,
    max_in_flight = excluded.max_in_flight, deduplicates = excluded.deduplicates,
    held_until = null, held_since = null, held_reason = null, held_detail = null, holds = 0,
    breaker = case when endpoints.breaker_by is null then 'closed' else endpoints.breaker end,
    breaker_since = case when endpoints.breaker_by is null then null else endpoints.breaker_since end,
    breaker_until = case when endpoints.breaker_by is null then null else endpoints.breaker_until end,
    breaker_openings = case when endpoints.breaker_by is null then 0 else endpoints.breaker_openings end,
    breaker_detail = case when endpoints.breaker_by is null then null else endpoints.breaker_detail end,
    breaker_orders = endpoints.breaker_orders + 1
