select silence_id, array_to_json(matchers), starts_at, ends_at, created_by, comment from silences
where $1 or ends_at > now() order by ends_at > now() desc, starts_at desc limit case when $1 then 1000 end
