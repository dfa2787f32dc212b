delete from pauses where organization_id = $1 and workflow_type = $2
