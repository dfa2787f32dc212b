drop function executions_before(text, text, integer, timestamptz, uuid, boolean, timestamptz, timestamptz, integer);
drop index lane_gates_ended;
alter table lane_gates drop column closed_since, drop column seen_at, drop column numbers_last, drop column times, drop column seen,
    drop column closed_us;
