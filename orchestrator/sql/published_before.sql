select payload ->> 'event_id' from events
where stream_id = $1 and event_id > $3 and type in ('execution.output', 'execution.log') and payload ->> 'event_id' is not null
  and payload ->> 'event_id' = any($2::text[])
