insert into silences (matchers, starts_at, ends_at, created_by, comment) values ($1::text[], $2, $3, $4, $5) returning silence_id
