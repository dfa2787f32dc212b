drop trigger catalogue_changed_memory on workflow_types;
alter table workflow_types drop column memory_mb;
