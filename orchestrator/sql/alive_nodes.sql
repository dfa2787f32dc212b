-- A node is there while its lease lasts; whether the session it listened with still exists is said beside it.
select node, state, backend_pid, backend_pid is not null and not exists (select from pg_stat_activity a where a.pid = n.backend_pid),
       heartbeat_at
from nodes n where n.lease_until > clock_timestamp()
