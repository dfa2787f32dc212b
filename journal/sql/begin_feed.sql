-- A number of its own tells every transaction that has begun to write by now from those that begin later: a snapshot's
-- xmax does not, it knows only of those that have ended.
select pg_current_snapshot(), pg_current_xact_id()
