select policy, version, updated_at, updated_by, reason from fairness
