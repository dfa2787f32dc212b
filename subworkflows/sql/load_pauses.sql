select organization_id, workflow_type, reason, paused_by, since, until_at from pauses
