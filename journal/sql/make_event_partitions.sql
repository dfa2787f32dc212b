select make_event_partitions($1, $2)
