-- The lane row's lock keeps its stream without gaps.
update workflow_types set last_seq = last_seq + 1 where organization_id = $1 and name = $2 returning lane_id, last_seq
