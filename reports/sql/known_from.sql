-- What ended before that may be gone: the end of the last day (UTC) of which something was removed.
select (max(day) + 1)::timestamp at time zone 'UTC' from execution_days
