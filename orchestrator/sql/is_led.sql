select s.node is not null and s.lease_until > clock_timestamp(), clock_timestamp() from scheduler s
