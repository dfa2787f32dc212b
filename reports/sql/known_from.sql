-- Whether executions have been removed, and the end of the oldest that is still there.
select (select executions > 0 from retention), (select min(completed_at) from executions where completed_at is not null)
