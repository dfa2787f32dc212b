-- plan: for its parameters
-- The last of the next so many events, or how far there are fewer.
select coalesce((select event_id from events where event_id > $1 and event_id <= $2
                 order by event_id offset $3::bigint - 1 limit 1), $2)
