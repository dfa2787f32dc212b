select extract(epoch from min(next_at) - now())::double precision from report_deliveries where state = 'pending'
