-- Whoever leaves by himself takes his row along; one that was started anew under its name is back.
select json_build_object('node', name), extract(epoch from clock_timestamp() - max(heartbeat_at)), '[]' from nodes n
where not exists (select from nodes again where again.name = n.name and again.lease_until >= clock_timestamp())
group by name
