-- One that has a row already was told of it, or is being told.
insert into outbox_messages (subscriber_id, event_id, state) select $1, unnest($2::bigint[]), 'in_flight'
on conflict do nothing returning event_id
