insert into outbox_deliveries
    (subscriber_id, event_id, number, at, duration_us, url, address, status, outcome, error, answer)
select $1, t.* from unnest($2::bigint[], $3::integer[], $4::timestamptz[], $5::bigint[], $6::text[], $7::text[],
                           $8::integer[], $9::text[], $10::text[], $11::text[]) as t
where exists (select from subscribers where subscriber_id = $1)
