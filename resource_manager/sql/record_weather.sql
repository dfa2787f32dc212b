-- Only where nobody has set it by hand since it was read.
insert into provider_weather as w (provider, cooling_until, since, why, learnt, grows_at, refused_at, quota_of, quota_left,
                                   quota_said, quota_until, set_by, orders, last_seq)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
on conflict (provider) do update set cooling_until = excluded.cooling_until, since = excluded.since, why = excluded.why,
    learnt = excluded.learnt, grows_at = excluded.grows_at, refused_at = excluded.refused_at, quota_of = excluded.quota_of,
    quota_left = excluded.quota_left, quota_said = excluded.quota_said, quota_until = excluded.quota_until,
    set_by = excluded.set_by, last_seq = w.last_seq + excluded.last_seq, updated_at = now()
where w.orders = excluded.orders
returning stream_id, last_seq
