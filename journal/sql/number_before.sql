select least($3, coalesce((select min(event_id) - 1 from events where event_id between $1 and $2 and at >= $4), $3))
