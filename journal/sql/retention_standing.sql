select executions, events, last_pass_at, last_pass_seconds from retention
