update outbox_replays set position = $2, messages = messages + $3 where replay_id = $1
