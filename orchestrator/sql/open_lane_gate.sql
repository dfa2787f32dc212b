insert into lane_gates (organization_id, workflow_type, gate, subject, detail, numbers, since, opens_at)
values ($1, $2, $3, $4, $5, $6::json, now(), $7)
