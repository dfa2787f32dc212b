insert into queue_lengths (organization_id, workflow_type, waiting, per_minute)
select * from unnest($1::text[], $2::text[], $3::bigint[], $4::double precision[])
on conflict (organization_id, workflow_type) do update set waiting = excluded.waiting, per_minute = excluded.per_minute
