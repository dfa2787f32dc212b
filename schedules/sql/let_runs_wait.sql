-- For a backfill: what has been left out before may be run after all.
insert into schedule_runs as known (schedule_id, due_at, outcome, detail)
select $1, due_at, 'waiting', $3 from unnest($2::timestamptz[]) as due_at
on conflict (schedule_id, due_at) do update set outcome = 'waiting', detail = excluded.detail, at = now()
    where known.outcome in ('skipped', 'missed', 'refused')
