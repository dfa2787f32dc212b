drop function tell_alert cascade;
drop table notifications, alert_receivers, alert_groups, silences, alerts;
drop function alert_moves, alert_raised, alert_begins;
