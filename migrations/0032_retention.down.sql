drop view executions_by_day;
drop table retention, execution_days;
