alter table executions drop column events_after;
