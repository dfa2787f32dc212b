select attempt_id, received_at, times, status, problem, sha256, body
from refused_callbacks where execution_id = $1 order by received_at limit 100
