delete from usage_charges where at < now() - interval '25 hours' and over_calls is not null
