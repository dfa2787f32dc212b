-- At most one gate of a lane is closed: whatever else is left open by somebody who led before ends here.
update lane_gates set ended_at = greatest($5, closed_since),
    closed_us = closed_us + greatest(round(extract(epoch from $5::timestamptz - closed_since) * 1000000), 0)::bigint
where organization_id = $1 and workflow_type = $2 and ended_at is null and (gate, subject) <> ($3::text, $4::text)
