-- Every transaction below it has ended, in all databases of the server.
select pg_snapshot_xmin(pg_current_snapshot())
