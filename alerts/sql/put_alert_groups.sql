insert into alert_groups (group_key, state) select * from json_to_recordset($1::json) as n(group_key text, state json)
on conflict (group_key) do update set state = excluded.state
