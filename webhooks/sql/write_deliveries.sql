insert into deliveries (execution_id, attempt_id, number, at, duration_us, url, address, status, outcome, error, answer)
select * from unnest($1::uuid[], $2::uuid[], $3::integer[], $4::timestamptz[], $5::bigint[], $6::text[], $7::text[],
                     $8::integer[], $9::text[], $10::text[], $11::text[])
on conflict do nothing
