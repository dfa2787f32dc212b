-- Waits for what its predecessor has under way: each of its transactions holds this row FOR SHARE (protocol R2).
with old as (select * from scheduler for update)
update scheduler s set epoch = s.epoch + 1, node = $1, backend_pid = $2, renewed_at = clock_timestamp(),
    lease_until = clock_timestamp() + make_interval(secs => $3)
from old
where old.lease_until < clock_timestamp() or old.node = $1
   or (old.backend_pid is not null and not exists (select from pg_stat_activity a where a.pid = old.backend_pid))
returning s.epoch, old.renewed_at, clock_timestamp()
