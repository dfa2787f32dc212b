-- How the database is, as far as a session like this may see it: sessions of the hub that have waited for a lock for more
-- than a second, and how far the slowest replica is behind.
select (select count(*) from pg_stat_activity
        where datname = current_database() and application_name like 'impresario%' and wait_event_type = 'Lock'
          and query_start < clock_timestamp() - interval '1 second'),
       (select coalesce(max(date_part('epoch', greatest(write_lag, flush_lag, replay_lag))), 0)::double precision
        from pg_stat_replication)
