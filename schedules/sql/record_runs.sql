-- One due time has one outcome; only one that waits gets another.
insert into schedule_runs as known (schedule_id, due_at, outcome, detail, execution_id)
select $1, * from unnest($2::timestamptz[], $3::text[], $4::text[], $5::uuid[])
on conflict (schedule_id, due_at) do update
    set outcome = excluded.outcome, detail = excluded.detail, execution_id = excluded.execution_id, at = now()
    where known.outcome = 'waiting'
returning due_at, execution_id
