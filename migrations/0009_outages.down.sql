alter table scheduler drop column outage_from, drop column outage_until, drop column outage_microseconds;
