select organization_id from organizations order by organization_id
