insert into report_deliveries (report_id, receiver) select $1, unnest($2::text[])
