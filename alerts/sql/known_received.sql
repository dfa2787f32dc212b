select fingerprint from alerts where organization_id = $1 and rule is null and phase <> 'resolved' and fingerprint = any($2::text[])
