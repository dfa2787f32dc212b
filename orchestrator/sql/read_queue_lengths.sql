select organization_id, workflow_type, waiting, per_minute from queue_lengths
