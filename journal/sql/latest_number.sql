-- The latest number that anybody has taken for an event, committed or not.
select case when is_called then last_value else 0 end from event_numbers
