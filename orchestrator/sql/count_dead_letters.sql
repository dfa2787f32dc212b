-- Of a few organizations and types; those that are decided about are outside of the index that this reads.
select organization_id, workflow_type, count(*) from dead_letters where resolved_at is null group by 1, 2
