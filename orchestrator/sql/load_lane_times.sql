select organization_id, workflow_type, started_at, ended_at from lane_times
