update orchestrator_state set node = $1, state = $2, since = $3, why = $4, seconds_in = $5::jsonb,
    last_execution = coalesce($6, last_execution), next_scheduled = $7
