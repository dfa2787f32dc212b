-- $3 as in resume.
delete from provider_pauses where organization_id = $1 and provider = $2 and since = coalesce($3, since)
