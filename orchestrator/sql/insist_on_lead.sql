-- The fence of a transaction that nobody waits for (protocol R2): where another leads there is nothing to divide by.
select 1 / count(*) from (select from scheduler where epoch = $1 and node = $2 for share) as lead
