select notification_id, kind, receiver, group_key, incident, array_to_json(firing), array_to_json(resolved), title, state, tries, error,
       created_at, settled_at
from notifications where $1 = '' or receiver = $1 order by created_at desc, notification_id limit $2
