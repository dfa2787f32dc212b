-- The last time the scheduler could not reach this database (protocol R9): deadlines that passed meanwhile are given
-- more time, whoever leads next. Kept here, so that a restart does not forget it.
alter table scheduler
    add column outage_from         timestamptz,
    add column outage_until        timestamptz,
    add column outage_microseconds bigint;
