-- No further than it matters.
select count(*) from (select from alerts where organization_id = $1 and rule is null and phase <> 'resolved' limit $2) as each
