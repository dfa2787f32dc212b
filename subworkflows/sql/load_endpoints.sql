select organization_id, workflow_type, endpoint_id, url, weight, status_url, max_in_flight, deduplicates,
       learnt_deduplicates, held_until, held_since, held_reason, held_detail, holds,
       breaker, breaker_since, breaker_until, breaker_openings, breaker_detail, breaker_by, breaker_orders
from endpoints order by organization_id, workflow_type, url
