-- What executions say while they run, chunks of output and log lines, are events: found by their types, and by the id that
-- their publisher gave them.
create index events_output on events (stream_id, seq) where type in ('execution.output', 'execution.log');
create index events_published on events (stream_id, (payload ->> 'event_id'))
    where type in ('execution.output', 'execution.log') and payload ->> 'event_id' is not null;
