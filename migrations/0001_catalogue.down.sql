drop table api_keys, pauses, endpoints, workflow_types, catalogue_version, organizations;
drop function bump_catalogue_version();
