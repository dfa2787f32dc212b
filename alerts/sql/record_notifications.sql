-- One that is tried again with the same content has the id that it had.
insert into notifications as o (notification_id, kind, receiver, group_key, incident, firing, resolved, title, state, tries)
select n.notification_id, n.kind, n.receiver, n.group_key, n.incident, array(select json_array_elements_text(n.firing)),
       array(select json_array_elements_text(n.resolved)), n.title, 'in_flight', n.tries
from json_to_recordset($1::json) as n(notification_id text, kind text, receiver text, group_key text, incident text, firing json,
                                      resolved json, title text, tries integer)
on conflict (notification_id) do update set state = 'in_flight', tries = excluded.tries, title = excluded.title
