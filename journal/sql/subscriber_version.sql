-- Of one that is told.
select version from subscribers where subscriber_id = $1 and deleted_at is null and disabled_at is null
