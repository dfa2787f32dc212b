drop table schedule_runs, schedule_states, schedules;
