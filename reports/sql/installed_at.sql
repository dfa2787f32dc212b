select min(created_at) from organizations
