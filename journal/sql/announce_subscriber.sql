-- The trigger tells every node that subscribers are to be read again.
update subscribers set updated_at = updated_at where subscriber_id = $1
