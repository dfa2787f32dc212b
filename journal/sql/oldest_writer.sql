-- Who holds back the settled end of the journal: the session whose transaction has had a number for the longest time.
select format('pid %s, %s%s, %s, begun %s', pid, coalesce(nullif(application_name, ''), 'without a name'),
              coalesce(', database ' || datname, ''), coalesce(state, 'unknown'), xact_start)
from pg_stat_activity where backend_xid is not null and pid <> pg_backend_pid()
order by age(backend_xid) desc limit 1
