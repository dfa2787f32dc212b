select n.node, n.name, n.hub_version, n.state, n.started_at, n.heartbeat_at, n.lease_until, s.node is not null
from nodes n left join scheduler s on s.node = n.node and s.lease_until > clock_timestamp()
order by n.started_at
