-- Only where nobody has set it by hand since it was read.
update endpoints set breaker = $3, breaker_since = $4, breaker_until = $5, breaker_openings = $6, breaker_detail = $7, breaker_by = $8
where endpoint_id = (select endpoint_id from endpoints where endpoint_id = $1 and breaker_orders = $2 for update skip locked)
