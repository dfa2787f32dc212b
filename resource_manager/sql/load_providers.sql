select name, limits, version, updated_at, updated_by, reason from providers order by name
