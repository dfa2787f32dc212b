update endpoints set held_until = $2, held_since = $3, held_reason = $4, held_detail = $5, holds = $6
where endpoint_id = (select endpoint_id from endpoints where endpoint_id = $1 for update skip locked)
