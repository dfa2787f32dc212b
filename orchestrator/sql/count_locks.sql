select count(*) from locks where held_until > clock_timestamp()
