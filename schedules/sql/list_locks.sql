-- Those that are held first. What an execution had is nobody's any more once it is over.
select name, owner, token, acquired_at, free_at, held, execution_id
from locks_now where organization_id = $1 and (held or execution_id is null)
order by not held, name limit 1000
