select case when lease_until > clock_timestamp() then state else 'lost' end, count(*) from nodes group by 1
