-- By hand: until $2 nothing goes to it; without a time it is as if it had never refused.
insert into provider_weather as w (provider, cooling_until, since, why, refused_at, set_by, orders, last_seq)
select name, $2::timestamptz, case when $2 is not null then now() end, $3, case when $2 is not null then now() end, $4, 1, 1
from providers where name = $1
on conflict (provider) do update set cooling_until = excluded.cooling_until, since = excluded.since, why = excluded.why,
    learnt = null, grows_at = null, refused_at = excluded.refused_at, quota_of = null, quota_left = null, quota_said = null,
    quota_until = null, set_by = excluded.set_by, orders = w.orders + 1, last_seq = w.last_seq + 1, updated_at = now()
returning stream_id, last_seq
