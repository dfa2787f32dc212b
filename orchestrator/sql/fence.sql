-- The first statement of every transaction of the scheduler (protocol R2): zero rows, step down.
select now() from scheduler where epoch = $1 and node = $2 for share
