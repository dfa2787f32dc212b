select drop_event_partitions($1)
