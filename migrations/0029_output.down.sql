drop index events_output, events_published;
