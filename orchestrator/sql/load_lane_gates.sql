select organization_id, workflow_type, gate, subject, detail,
    case when numbers_last::text = '{}' then numbers else numbers_last end, closed_since, opens_at
from lane_gates where ended_at is null
