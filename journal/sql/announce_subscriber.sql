-- The trigger tells every node that subscribers are to be read again.
update subscribers set orders = orders + 1 where subscriber_id = $1
