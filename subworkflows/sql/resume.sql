-- $3: only the pause that began then, as it has ended by itself; one that somebody has made since stays.
delete from pauses where organization_id = $1 and workflow_type = $2 and since = coalesce($3, since)
