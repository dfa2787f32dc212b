select organization_id, workflow_type, learnt from cost_estimates
