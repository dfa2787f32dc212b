-- The change feed (protocol R13): everything from transactions that were not yet visible to the previous read, but what
-- this node wrote and applied itself. Ids repeat between reads; the reader passes over those it has seen.
select event_id, kind, stream_id, type, payload, pg_snapshot_xmin(pg_current_snapshot())
from events
where xid >= $1::xid8 and writer is distinct from $2
order by xid, event_id limit $3
