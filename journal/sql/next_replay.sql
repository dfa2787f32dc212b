select replay_id, position, last, choice from outbox_replays where subscriber_id = $1 order by replay_id limit 1
