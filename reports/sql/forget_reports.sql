delete from reports where report_id = any(array(
    select report_id from reports where created_at < now() - interval '400 days' limit 100))
