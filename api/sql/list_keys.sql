select key_id, organization_id, name, role, hint, created_at, revoked_at from api_keys order by created_at
