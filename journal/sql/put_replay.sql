insert into outbox_replays (subscriber_id, position, last, choice, requested_by) values ($1, $2, $3, $4::json, $5)
