-- Higher than that of every transaction that has one by now.
select pg_current_xact_id()
