-- The four workflow types of 003, waiting for endpoints: PUT /v1/workflow-types/{name}, or the configuration file.
insert into workflow_types (organization_id, name, importance, timeout_seconds, source) values
    ('default', 'content_pipeline', 'normal', 300, 'seed'),
    ('default', 'seo_monitor', 'low', 300, 'seed'),
    ('default', 'revenue_optimizer', 'high', 300, 'seed'),
    ('default', 'intelligence_engine', 'normal', 300, 'seed');
