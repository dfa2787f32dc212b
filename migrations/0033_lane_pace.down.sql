drop table lane_times;
drop trigger catalogue_changed_pace on workflow_types;
alter table workflow_types
    drop column execution_interval_seconds, drop column cool_down_seconds, drop column run_windows;
