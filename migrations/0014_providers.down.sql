drop table provider_permits;
drop table provider_versions;
drop table providers;
