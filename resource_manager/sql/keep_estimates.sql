insert into cost_estimates (organization_id, workflow_type, learnt)
select * from unnest($1::text[], $2::text[], $3::text[])
on conflict (organization_id, workflow_type) do update set learnt = excluded.learnt, updated_at = now()
