-- Later ones only. In one order, so that two of them never wait for each other.
insert into lane_times as t (organization_id, workflow_type, started_at, ended_at)
select * from unnest($1::text[], $2::text[], $3::timestamptz[], $4::timestamptz[])
    as l(organization_id, workflow_type, started_at, ended_at)
order by organization_id, workflow_type
on conflict (organization_id, workflow_type) do update
set started_at = greatest(t.started_at, excluded.started_at), ended_at = greatest(t.ended_at, excluded.ended_at)
