-- How each table is kept, by how it is used. The defaults (50 rows + 20 % or 10 %) analyze and vacuum a young table that
-- is filled at thousands of rows a second in every round, and an old one rarely.

-- Rewritten three times in each row's life: vacuumed early, so that ready entries leave their index; planned by key, so
-- statistics need not follow every thousand rows.
alter table executions set (
    autovacuum_vacuum_threshold = 5000, autovacuum_analyze_threshold = 20000,
    autovacuum_vacuum_insert_threshold = 50000);

-- Appended to and never or rarely changed: visited for their visibility map and statistics, not for dead rows.
alter table events set (
    autovacuum_analyze_threshold = 50000, autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_insert_threshold = 50000);
alter table execution_inputs set (
    autovacuum_analyze_threshold = 50000, autovacuum_vacuum_insert_threshold = 50000);
alter table execution_results set (
    autovacuum_analyze_threshold = 50000, autovacuum_vacuum_insert_threshold = 50000);
alter table attempts set (
    autovacuum_analyze_threshold = 50000, autovacuum_vacuum_insert_threshold = 50000);
alter table deliveries set (
    autovacuum_analyze_threshold = 50000, autovacuum_vacuum_insert_threshold = 50000);
alter table workflow_resource_usage set (
    autovacuum_analyze_threshold = 50000, autovacuum_vacuum_insert_threshold = 50000);

-- A few rows that are rewritten every second or oftener and never change an indexed column: with room on their page each
-- update stays on it and prunes the one before.
alter table scheduler set (fillfactor = 20);
alter table nodes set (fillfactor = 20);
alter table orchestrator_state set (fillfactor = 20);
alter table catalogue_version set (fillfactor = 20);
