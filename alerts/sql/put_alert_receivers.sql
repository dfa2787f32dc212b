insert into alert_receivers (receiver, state) select * from json_to_recordset($1::json) as n(receiver text, state json)
on conflict (receiver) do update set state = excluded.state
