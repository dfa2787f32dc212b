alter table catalogue_version reset (fillfactor);
alter table orchestrator_state reset (fillfactor);
alter table nodes reset (fillfactor);
alter table scheduler reset (fillfactor);
alter table workflow_resource_usage reset (autovacuum_analyze_threshold, autovacuum_vacuum_insert_threshold);
alter table deliveries reset (autovacuum_analyze_threshold, autovacuum_vacuum_insert_threshold);
alter table attempts reset (autovacuum_analyze_threshold, autovacuum_vacuum_insert_threshold);
alter table execution_results reset (autovacuum_analyze_threshold, autovacuum_vacuum_insert_threshold);
alter table execution_inputs reset (autovacuum_analyze_threshold, autovacuum_vacuum_insert_threshold);
alter table events reset (
    autovacuum_analyze_threshold, autovacuum_analyze_scale_factor, autovacuum_vacuum_insert_threshold);
alter table executions reset (
    autovacuum_vacuum_threshold, autovacuum_analyze_threshold, autovacuum_vacuum_insert_threshold);
