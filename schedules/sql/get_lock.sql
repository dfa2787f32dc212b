select name, owner, token, acquired_at, held_until, held_until > clock_timestamp()
from locks where organization_id = $1 and name = $2
