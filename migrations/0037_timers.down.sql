drop function cancel_timer, set_timer, end_timer, put_timer;
drop function if exists tell_timer cascade;
drop table timers;
drop function announce_timers, timer_removed, timer_moved, timer_added, hub_writer;
