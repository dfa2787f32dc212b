select version, limits, at, by, reason from provider_versions where name = $1 order by version desc limit 100
