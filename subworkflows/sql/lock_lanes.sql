-- The lanes about which something is to be written down, without those that somebody holds.
select organization_id, name from workflow_types
where (organization_id, name) in (select * from unnest($1::text[], $2::text[]))
for no key update skip locked
