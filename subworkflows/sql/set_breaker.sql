-- By hand. The lane is locked before the endpoint, as everybody does who writes both.
with lane as materialized (
    select organization_id, name from workflow_types where organization_id = $1 and name = $2 for no key update
)
update endpoints e set breaker = $4, breaker_since = coalesce($5, now()), breaker_until = $6, breaker_openings = $7, breaker_detail = $8,
    breaker_by = $9, breaker_orders = breaker_orders + 1
from lane where e.organization_id = lane.organization_id and e.workflow_type = lane.name and e.endpoint_id = $3
returning e.url, e.breaker, e.breaker_since, e.breaker_until, e.breaker_openings, e.breaker_detail, e.breaker_by, e.breaker_orders
