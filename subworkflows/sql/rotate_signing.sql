-- The new secret goes first; of the others only the newest stays alive beside it.
update workflow_types set signing_sealed = $3::text[], version = version + 1, updated_at = now()
where organization_id = $1 and name = $2
