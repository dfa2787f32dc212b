-- Its stream goes on after it was retired too: what it held is settled.
update budgets set last_seq = last_seq + 1 where budget_id = $1 returning last_seq, scope_organization
