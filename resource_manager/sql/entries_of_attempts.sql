select attempt_id, movement, ordinal, budget_id, window_start, window_end, reserved, suspense, settled
from ledger_entries where attempt_id = any($1::uuid[]) order by entry_id
