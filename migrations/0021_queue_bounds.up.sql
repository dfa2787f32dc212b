-- How long a type's queue may grow, and how long one of its executions may wait; null: without end. What is scheduled for
-- later does not wait yet.
alter table workflow_types
    add column queue_soft_limit  integer check (queue_soft_limit between 1 and 100000000),
    add column queue_hard_limit  integer check (queue_hard_limit between 1 and 100000000),
    add column queue_ttl_seconds integer check (queue_ttl_seconds between 1 and 2592000),
    add constraint queue_limits_in_order check (queue_soft_limit <= queue_hard_limit);

create trigger catalogue_changed_queue after update of queue_soft_limit, queue_hard_limit, queue_ttl_seconds on workflow_types
    for each statement execute function bump_catalogue_version();

-- How long the queues with a bound are, as the scheduler counts them: for the other nodes, which take executions in as
-- well. '' and '' is all of them together. Written every second while they change.
create table queue_lengths (
    organization_id text not null,
    workflow_type   text not null,
    waiting         bigint not null,
    per_minute      double precision not null,
    primary key (organization_id, workflow_type)
) with (fillfactor = 20);
