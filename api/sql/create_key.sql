insert into api_keys (key_id, organization_id, name, role, hash, hint) values ($1, $2, $3, $4, $5, $6)
