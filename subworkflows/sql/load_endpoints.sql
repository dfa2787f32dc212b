select organization_id, workflow_type, endpoint_id, url, weight, status_url, max_in_flight, deduplicates,
       learnt_deduplicates, held_until, held_since, held_reason, held_detail, holds
from endpoints order by organization_id, workflow_type, url
