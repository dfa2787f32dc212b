select s.node, s.state, s.since, s.why, s.seconds_in, s.last_execution, s.next_scheduled, l.epoch, l.lease_until > clock_timestamp()
from orchestrator_state s, scheduler l
