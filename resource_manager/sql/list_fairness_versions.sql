select version, policy, at, by, reason from fairness_versions order by version desc limit 100
