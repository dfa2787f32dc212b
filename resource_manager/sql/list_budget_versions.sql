select version, definition, at, by, reason from budget_versions where budget_id = $1 order by version desc limit 100
