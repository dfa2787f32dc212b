select replay_id, position, last, failed, choice, since, until from outbox_replays
where subscriber_id = $1 order by replay_id limit 1
