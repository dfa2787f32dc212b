select key_id, organization_id, name, role, hash from api_keys where revoked_at is null
