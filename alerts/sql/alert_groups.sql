select group_key, state from alert_groups where $1 = '' or group_key = $1
