select number, attempt_id, opening, node, endpoint_id, deliveries, granted_at, accepted_at, closed_at, outcome, detail, cost_microusd
from attempts where execution_id = $1 order by number
