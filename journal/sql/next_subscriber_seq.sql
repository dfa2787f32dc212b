update subscriber_states set last_seq = last_seq + 1 where subscriber_id = $1 returning last_seq
