delete from outbox_replays where replay_id = $1
