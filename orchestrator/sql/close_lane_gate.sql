update lane_gates set ended_at = now() where organization_id = $1 and workflow_type = $2 and ended_at is null
