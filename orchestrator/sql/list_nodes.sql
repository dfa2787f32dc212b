select n.node, n.name, n.hub_version, case when n.lease_until > clock_timestamp() then n.state else 'lost' end,
    n.started_at, n.heartbeat_at, n.lease_until, s.node is not null
from nodes n left join scheduler s on s.node = n.node and s.lease_until > clock_timestamp()
order by n.started_at
