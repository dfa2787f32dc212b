insert into outbox_replays (subscriber_id, position, last, failed, choice, since, until, requested_by)
values ($1, $2, $3, $4, $5::json, $6, $7, $8)
