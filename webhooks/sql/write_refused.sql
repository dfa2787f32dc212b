-- Evidence; the same again is counted, not stored again.
insert into refused_callbacks (execution_id, attempt_id, sha256, status, problem, body)
select * from unnest($1::uuid[], $2::uuid[], $3::bytea[], $4::text[], $5::text[], $6::text[])
on conflict (execution_id, attempt_id, sha256) do update set times = refused_callbacks.times + 1
