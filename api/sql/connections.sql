select count(*) from pg_stat_activity where application_name like 'impresario%' and datname = current_database()
