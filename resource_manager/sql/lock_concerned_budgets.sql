-- result: binary
-- The same in one order for everybody (protocol R8). What they hold is read by the next statement: this one has seen
-- it before it waited. The attempts' own entries stand still: whoever writes them has locked their execution.
@concerned_budgets@
for no key update
