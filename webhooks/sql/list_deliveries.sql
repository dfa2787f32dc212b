select attempt_id, number, at, duration_us, url, address, status, outcome, error, answer
from deliveries where execution_id = $1 order by at, number limit 1000
