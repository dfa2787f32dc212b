-- $3: the state; $4: the error; $5: seconds until it is tried again; $6: it left and was not answered.
update report_deliveries set state = $3, error = $4, in_doubt = in_doubt + case when $6::boolean then 1 else 0 end,
       next_at = now() + make_interval(secs => $5::double precision),
       settled_at = case when $3 = 'pending' then null else now() end
where report_id = $1 and receiver = $2 and state = 'pending'
