delete from nodes where lease_until < clock_timestamp() - interval '1 hour'
