delete from alert_groups where group_key = any($1::text[])
