-- The change feed (protocol R13): everything from transactions that the snapshot of the previous read ($1) could not
-- see, each once: those that were under way then, by number, and those that began since. Left out is what this node
-- wrote and applied itself, but not what it began to write before its feed began ($4): that may have been in doubt. What that snapshot could
-- not see has numbers beyond $5: no partition from before is opened.
select now_read.position, e.event_id, e.kind, e.stream_id, e.type, e.payload
from (select pg_current_snapshot() as position) as now_read left join (
    (select * from events
     where xid = any(array(select pg_snapshot_xip($1::pg_snapshot)))
       and (writer is distinct from $2 or xid < $4::xid8) and event_id > $5
     order by xid, event_id limit $3)
    union all
    (select * from events
     where xid >= pg_snapshot_xmax($1::pg_snapshot)
       and (writer is distinct from $2 or xid < $4::xid8) and event_id > $5
     order by xid, event_id limit $3)) as e on true
order by e.xid, e.event_id
