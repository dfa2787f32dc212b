-- For how long nobody has led.
select '{}', coalesce(extract(epoch from clock_timestamp() - renewed_at), 0), '[]' from scheduler
