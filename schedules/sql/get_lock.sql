select name, owner, token, acquired_at, free_at, held, execution_id
from locks_now where organization_id = $1 and name = $2 and (held or execution_id is null)
