with gone as (delete from providers where name = $1 returning name, version)
insert into provider_versions (name, version, by, reason) select name, version + 1, $2, $3 from gone
