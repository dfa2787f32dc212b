-- A node is there while its lease lasts and its session exists; one whose session has just been replaced is given two
-- seconds to say so.
select node, state from nodes n
where n.lease_until > clock_timestamp()
  and (n.backend_pid is null or n.heartbeat_at > clock_timestamp() - interval '2 seconds'
       or exists (select from pg_stat_activity a where a.pid = n.backend_pid))
