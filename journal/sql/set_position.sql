update subscriber_states set position = $2 where subscriber_id = $1
