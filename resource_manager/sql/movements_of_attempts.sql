-- result: binary
select attempt_id, movement, ordinal, accounts, reserved, suspense, settled
from ledger_movements where attempt_id = any($1::uuid[]) order by movement_id
