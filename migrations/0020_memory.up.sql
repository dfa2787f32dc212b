-- What one execution of a type takes of the memory that all executions share, reserved while it runs. null: nothing, as
-- for work that runs elsewhere. The four of 003 take 512 MB each.
alter table workflow_types add column memory_mb integer check (memory_mb between 1 and 16777216);
update workflow_types set memory_mb = 512
where organization_id = 'default' and name in ('content_pipeline', 'seo_monitor', 'revenue_optimizer', 'intelligence_engine');

create trigger catalogue_changed_memory after update of memory_mb on workflow_types
    for each statement execute function bump_catalogue_version();
