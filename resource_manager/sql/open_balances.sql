insert into budget_balances (budget_id, window_start, window_end)
select distinct * from unnest($1::uuid[], $2::timestamptz[], $3::timestamptz[]) order by 1, 2, 3
on conflict do nothing
