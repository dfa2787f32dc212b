-- Those that something of these organizations, types, providers and batches may fall on, and those that an attempt of $1
-- has money in, in one order for everybody (protocol R8). What they hold is read by the next statement: this one has seen
-- it before it waited. The attempts' own entries stand still: whoever writes them has locked their execution.
select b.retired_at is not null, @budget_columns@
from budgets b
where (@budget_concerns@)
   or b.budget_id in (select e.budget_id from ledger_entries e where e.attempt_id = any($1::uuid[]))
order by b.budget_id
for no key update
