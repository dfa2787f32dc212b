drop table orchestrator_metrics, events;
