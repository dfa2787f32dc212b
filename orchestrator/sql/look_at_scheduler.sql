-- Whether leadership is to be had, without a lock: asked every second by every node that does not lead. Its lease has
-- run out, or the session of the one who had it is gone (then nothing of it can commit any more; the epoch fences what
-- is still under way), or it was this node's own.
select s.lease_until < clock_timestamp() or s.node = $1
       or (s.backend_pid is not null and not exists (select from pg_stat_activity a where a.pid = s.backend_pid))
from scheduler s
