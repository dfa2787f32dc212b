drop table queue_lengths;
drop trigger catalogue_changed_queue on workflow_types;
alter table workflow_types
    drop constraint queue_limits_in_order,
    drop column queue_soft_limit, drop column queue_hard_limit, drop column queue_ttl_seconds;
