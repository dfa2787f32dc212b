-- Which of these nobody is taking or giving back just now: nobody will until this transaction ends. The next statement sees
-- what whoever had it has done.
select w.organization_id, w.name
from unnest($1::text[], $2::text[]) as w(organization_id, name)
where pg_try_advisory_xact_lock(hashtextextended(w.organization_id || E'\n' || w.name, 0))
