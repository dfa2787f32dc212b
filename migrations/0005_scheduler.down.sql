drop table lane_gates, orchestrator_state, nodes, scheduler;
