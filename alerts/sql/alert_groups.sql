select group_key, state from alert_groups
