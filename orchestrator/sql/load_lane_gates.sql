select organization_id, workflow_type, gate, subject, detail, numbers, since, opens_at from lane_gates where ended_at is null
