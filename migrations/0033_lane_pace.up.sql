-- How a type's starts are paced: so far apart, so long after one has ended, and only within windows by the clocks of a zone
-- (003: execution intervals and cool-downs). null: not at all.
alter table workflow_types
    add column execution_interval_seconds integer check (execution_interval_seconds between 1 and 2592000),
    add column cool_down_seconds          integer check (cool_down_seconds between 1 and 2592000),
    add column run_windows                json;

create trigger catalogue_changed_pace after update of execution_interval_seconds, cool_down_seconds, run_windows on workflow_types
    for each statement execute function bump_catalogue_version();

-- When one of a lane last started and last ended. Written with the start or the end where the type's pace asks for it, and
-- of all other lanes by the scheduler, once a second while they change.
create table lane_times (
    organization_id text not null,
    workflow_type   text not null,
    started_at      timestamptz,
    ended_at        timestamptz,
    primary key (organization_id, workflow_type)
) with (fillfactor = 20);
