drop table report_deliveries, reports;
drop index executions_ended;
